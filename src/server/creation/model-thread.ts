/** The tasks of a model's thread, with the connection to its server. `model-thread-entry.cts` imports it. */

import { createRequire } from 'node:module';
import {
  work,
  type CompleteTask,
  type Connect,
  type ConnectedServer,
  type ServeTask,
  type TaskOutcome,
} from '../../javascript/threads/worker.js';
import type * as attaching from './attach-server.js';
import type * as devices from '../reports/devices.js';

/** What {@link connect} imports. */
interface Connecting {
  readonly connect: typeof attaching.connect;
  readonly usableDevices: typeof devices.usableDevices;
}

/**
 * `context.server` is there when it is read, and half of the package belongs to it, which models that call no
 * others do not need. Only `require` imports without a promise.
 */
function connecting(): Connecting {
  const require = createRequire(import.meta.url);
  const { connect } = require('./attach-server.js') as Pick<Connecting, 'connect'>;
  const { usableDevices } = require('../reports/devices.js') as Pick<Connecting, 'usableDevices'>;
  return { connect, usableDevices };
}

const connectHere: Connect = ({ handle, options, by }, caller): ConnectedServer | undefined => {
  const { connect, usableDevices } = connecting();
  return connect(handle, () => usableDevices(options), caller, by);
};

/** Does a task. */
export default function run(task: CompleteTask | ServeTask): Promise<TaskOutcome> {
  return work(task, connectHere);
}
