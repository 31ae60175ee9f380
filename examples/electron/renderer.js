/** The page: it draws, and asks for the digit after each stroke. */

/**
 * An element of the page.
 *
 * @template {HTMLElement} E
 * @param {string} id
 * @param {new () => E} type
 */
function element(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${type.name} '${id}'`);
  return found;
}

const canvas = element('drawing', HTMLCanvasElement);
const answer = element('answer', HTMLElement);
const context = canvas.getContext('2d', { willReadFrequently: true });
if (!context) throw new Error('the page has no 2D context');
const drawing = context;
/** The preload script's. @type {{ classify(image: Float32Array): Promise<import('./models.js').Answer> }} */
const models = Reflect.get(window, 'models');

const side = 8;

/**
 * The drawing as the model's input: 8 x 8 pixels, each of which says how much of a cell is black, from 0 to
 * 16.
 */
function image() {
  const { data } = drawing.getImageData(0, 0, canvas.width, canvas.height);
  const cell = canvas.width / side;
  const pixels = new Float32Array(side * side);
  for (let y = 0; y < canvas.height; y++)
    for (let x = 0; x < canvas.width; x++) {
      // Strokes are opaque and the rest is transparent.
      const black = (data[4 * (y * canvas.width + x) + 3] ?? 0) / 255;
      const index = Math.floor(y / cell) * side + Math.floor(x / cell);
      pixels[index] = (pixels[index] ?? 0) + (16 * black) / (cell * cell);
    }
  return pixels;
}

async function ask() {
  try {
    const said = await models.classify(image());
    answer.textContent =
      'digit' in said
        ? `That is a ${said.digit} (${said.microseconds.toFixed(0)} µs in the model).`
        : `${said.code}: ${said.message}`;
  } catch (error) {
    answer.textContent = String(error);
  }
}

drawing.lineWidth = 40;
drawing.lineCap = 'round';
canvas.addEventListener('pointerdown', ({ offsetX, offsetY, pointerId }) => {
  canvas.setPointerCapture(pointerId);
  drawing.beginPath();
  drawing.moveTo(offsetX, offsetY);
});
canvas.addEventListener('pointermove', ({ offsetX, offsetY, buttons }) => {
  if (buttons === 0) return;
  drawing.lineTo(offsetX, offsetY);
  drawing.stroke();
});
canvas.addEventListener('pointerup', () => void ask());
element('clear', HTMLButtonElement).addEventListener('click', () => {
  drawing.clearRect(0, 0, canvas.width, canvas.height);
  answer.textContent = '';
});
