import assert from 'node:assert/strict';
import { homedir } from 'node:os';
import { test } from 'node:test';
import { homeFolder } from '../../src/backends/home-folder.js';

/** What the system says of a number that no user has. */
const unknownUser = (): string => {
  throw new Error('uv_os_homedir returned ENOENT');
};

test('the home is what HOME says, or what the system knows, or nothing', () => {
  assert.equal(homeFolder({ HOME: '/home/me' }, unknownUser), '/home/me');
  assert.equal(homeFolder({}), homedir());
  assert.equal(
    homeFolder({}, () => '/known'),
    '/known',
  );
  assert.equal(homeFolder({}, unknownUser), undefined);
  assert.equal(homeFolder({ HOME: '' }, unknownUser), undefined);
});
