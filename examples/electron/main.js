/** The main process: it starts a process for the models, opens a window, and connects these two by a port. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { app, BrowserWindow, MessageChannelMain, protocol, session, utilityProcess } from 'electron';

const folder = import.meta.dirname;
// In the packaged app, the repository lies beside the archive (extraResources): runtimes open model files by
// themselves.
const repository = join(app.isPackaged ? process.resourcesPath : folder, 'models');

/** The files of the page, and their types. The page gets no others. */
const pageFiles = new Map([
  ['index.html', 'text/html; charset=utf-8'],
  ['renderer.js', 'text/javascript'],
  ['style.css', 'text/css'],
]);

// A scheme of its own has fewer rights than file: has. Electron wants to know of it before the app is ready.
protocol.registerSchemesAsPrivileged([{ scheme: 'app', privileges: { standard: true, secure: true } }]);

/** Answers the page's requests with its files. */
function servePage() {
  protocol.handle('app', async ({ url }) => {
    const name = new URL(url).pathname.slice(1);
    const type = pageFiles.get(name);
    if (type === undefined) return new Response('not found', { status: 404 });
    // Electron's readFile also reads from the archive.
    const bytes = await readFile(join(folder, name));
    return new Response(new Uint8Array(bytes), { headers: { 'content-type': type } });
  });
}

/** Takes from all pages what this app does not need: other pages, windows, and rights such as the camera. */
function limitPages() {
  app.on('web-contents-created', (_event, contents) => {
    contents.on('will-navigate', (event) => {
      event.preventDefault();
    });
    contents.setWindowOpenHandler(() => ({ action: 'deny' }));
  });
  session.defaultSession.setPermissionRequestHandler((_contents, _permission, decide) => {
    decide(false);
  });
}

/** @returns The models' process. */
function startModels() {
  // A fault in a runtime ends only this process, not the app, and its work stops no window.
  return utilityProcess.fork(join(folder, 'models.js'), [repository], { serviceName: 'models' });
}

/** @param {Electron.UtilityProcess} models */
async function openWindow(models) {
  const window = new BrowserWindow({
    width: 420,
    height: 560,
    webPreferences: { preload: join(folder, 'preload.cjs'), contextIsolation: true, sandbox: true },
  });
  models.once('exit', (code) => {
    if (!window.isDestroyed()) window.webContents.send('models-ended', code);
  });
  // A port ends with its page, so each load of the page gets a new one.
  window.webContents.on('did-finish-load', () => {
    const { port1, port2 } = new MessageChannelMain();
    models.postMessage('port', [port1]);
    window.webContents.postMessage('models', null, [port2]);
  });
  await window.loadURL('app://page/index.html');
}

/**
 * Delays the end of the app until the models' process has answered what is in flight.
 *
 * @param {Electron.UtilityProcess} models
 */
function closeAtQuit(models) {
  let ended = false;
  models.once('exit', () => {
    ended = true;
  });
  app.on('will-quit', (event) => {
    if (ended) return;
    event.preventDefault();
    models.once('exit', () => {
      app.quit();
    });
    models.postMessage('close');
  });
}

app.on('window-all-closed', () => {
  app.quit();
});

// Every page is in a sandbox, also one that a later window forgets to put there.
app.enableSandbox();

// There is no await here, because the app becomes ready only after this module has run to its end.
void app.whenReady().then(async () => {
  limitPages();
  servePage();
  const models = startModels();
  closeAtQuit(models);
  await openWindow(models);
});
