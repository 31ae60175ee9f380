#!/usr/bin/env node
/** The command `npx tritonts …`. */

import { runCommand } from './commands.js';

process.exitCode = await runCommand(process.argv.slice(2));
