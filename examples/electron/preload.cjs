// What the page may do: ask for a digit. A sandboxed preload script must be CommonJS.
const { contextBridge, ipcRenderer } = require('electron');

/** @type {MessagePort | undefined} */
let port;
/** @type {Map<number, { resolve: (answer: import('./models.js').Answer) => void, reject: (error: Error) => void }>} */
const waiting = new Map();
let lastId = 0;

ipcRenderer.on('models', ({ ports: [given] }) => {
  port = given;
  if (!port) return;
  port.onmessage = ({ data }) => {
    waiting.get(data.id)?.resolve(data);
    waiting.delete(data.id);
  };
});

ipcRenderer.on('models-ended', (_event, code) => {
  port = undefined;
  for (const { reject } of waiting.values()) reject(new Error(`the models' process ended with ${code}`));
  waiting.clear();
});

contextBridge.exposeInMainWorld('models', {
  /** @param {Float32Array} image - 8 x 8 pixels, row by row, from 0 (white) to 16 (black). */
  classify(image) {
    return new Promise((resolve, reject) => {
      if (!port) {
        reject(new Error("the models' process is not connected"));
        return;
      }
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      port.postMessage({ id, image });
    });
  },
});
