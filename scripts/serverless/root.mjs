// Lays out a root folder as a serverless environment has it, by mounts. Runs in a mount namespace of its own, as root.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const mount = (...args) => execFileSync('mount', args, { stdio: ['ignore', 'inherit', 'inherit'] });

/** The shared libraries that programs need, with the loader, as the paths that the loader uses. */
function librariesOf(files) {
  const found = new Set();
  for (const file of files) {
    const text = execFileSync('ldd', [file], { encoding: 'utf8' });
    for (const [, path] of text.matchAll(/(?:=> |^\s*)(\/\S+) \(/gm)) found.add(path);
  }
  return [...found];
}

/** A new root in `folder`, which is in memory and can be written until {@link Root.seal}. */
export class Root {
  constructor(folder) {
    this.folder = folder;
    mount('-t', 'tmpfs', '-o', 'mode=755', 'root', folder);
    // What a container's runtime puts into /dev. Neither has shared memory: Lambda has none, and this is the harder case.
    for (const device of ['null', 'zero', 'random', 'urandom'])
      this.#bind(join('/dev', device), join('/dev', device));
    mkdirSync(join(folder, 'proc'));
    mount('-t', 'proc', 'proc', join(folder, 'proc'));
  }

  /** Shows a file or folder of this machine at a place of the root, read-only. */
  show(from, to) {
    this.#bind(from, to);
    mount('-o', 'remount,bind,ro', join(this.folder, to));
  }

  #bind(from, to) {
    const place = join(this.folder, to);
    const isFolder =
      execFileSync('stat', ['-L', '-c', '%F', from], { encoding: 'utf8' }).trim() === 'directory';
    mkdirSync(isFolder ? place : dirname(place), { recursive: true });
    if (!isFolder) closeSync(openSync(place, 'a'));
    mount('--bind', realpathSync(from), place);
  }

  /** Shows the programs and libraries that run there: Node at a path, and what the addons and libraries need. */
  showNode(to, addons) {
    this.show(process.execPath, to);
    for (const library of librariesOf([process.execPath, ...addons])) this.show(library, library);
  }

  /** A folder in memory that can be written. */
  scratch(to, size) {
    mkdirSync(join(this.folder, to), { recursive: true });
    mount('-t', 'tmpfs', '-o', `mode=1777,size=${size}`, 'scratch', join(this.folder, to));
  }

  write(to, text) {
    mkdirSync(dirname(join(this.folder, to)), { recursive: true });
    writeFileSync(join(this.folder, to), text);
  }

  link(to, target) {
    symlinkSync(target, join(this.folder, to));
  }

  /** From now on nothing can be written besides what {@link scratch} made. */
  seal() {
    mount('-o', 'remount,ro', this.folder);
  }
}

/** This process's place in the hierarchy of cgroups that limits memory, and the names of the files there. */
function memoryGroup() {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const places = lines.map((line) => /^\d+:([^:]*):(.*)$/.exec(line)?.slice(1) ?? ['', '']);
  const old = places.find(([controllers]) => controllers.split(',').includes('memory'));
  if (old) return { folder: join('/sys/fs/cgroup/memory', old[1]), limit: 'memory.limit_in_bytes' };
  const [, path = '/'] = places.find(([controllers]) => controllers === '') ?? [];
  return { folder: join('/sys/fs/cgroup', path), limit: 'memory.max' };
}

/**
 * A cgroup with a limit of memory, below this process's own.
 *
 * @returns The file that takes the ids of processes, or why there is none.
 */
export function limitMemory(name, bytes) {
  const { folder, limit } = memoryGroup();
  const group = join(folder, name);
  try {
    mkdirSync(group);
    writeFileSync(join(group, limit), String(bytes));
    return { group, processes: join(group, 'cgroup.procs') };
  } catch (error) {
    return { reason: `no cgroup with a limit of memory could be made: ${error.message}` };
  }
}
