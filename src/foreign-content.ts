/**
 * Recognises files that are not what they should be, such as a Git LFS pointer, a web page or another
 * framework's model, and says what to do. The text follows the file's name in a message.
 */

/** How many of a file's first bytes are enough to recognise its kind. */
export const headBytes = 512;

function latin1(head: Uint8Array): string {
  return Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, headBytes)).toString('latin1');
}

/** Whether the bytes begin like text in UTF-16 or UTF-32, with or without a byte order mark. */
function isWide(head: Uint8Array): boolean {
  const [a, b, c, d] = head;
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return true;
  if (a === 0 && b === 0) return c === 0xfe || c === 0;
  // A single NUL is a fault of another kind.
  const isNext = head.byteLength < 4 || (c === 0) !== (d === 0) || (c === 0 && d === 0);
  return (a === 0) !== (b === 0) && isNext;
}

/**
 * Recognises the pointer that Git LFS leaves in place of a file that was not downloaded; undefined for other
 * content.
 */
export function lfsPointer(head: Uint8Array): string | undefined {
  const text = latin1(head);
  // Windows editors put a byte order mark in front.
  if (!/^(?:\xef\xbb\xbf)?version https:\/\/git-lfs\.github\.com\/spec\//.test(text)) return undefined;
  const size = /^size (\d{1,15})\r?$/m.exec(text)?.[1];
  const bytes = size === undefined ? '' : ` of ${size} bytes`;
  return `is a Git LFS pointer in place of the file${bytes}: run 'git lfs pull' in its repository`;
}

/** The beginning of a model of OpenVINO (IR), which is XML. */
const openVinoModel = /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->)[^])*-->\s*)*<net[\s>]/;

/**
 * Recognises content that a failed download leaves in place of any file; undefined for other content.
 *
 * @param head - The file's first bytes.
 */
export function misplacedContent(head: Uint8Array): string | undefined {
  const pointer = lfsPointer(head);
  if (pointer !== undefined) return pointer;
  const text = latin1(head).replaceAll('\0', '');
  if (openVinoModel.test(text)) return undefined;
  if (/^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<(?:!doctype\s|html[\s>]|\?xml\s|error>)/i.test(text))
    return 'is a web page: download the file itself (on Hugging Face, the address with /resolve/, not /blob/)';
  return undefined;
}

/**
 * Why a file cannot be read as text; undefined if its beginning does not show it.
 *
 * @param head - The file's first bytes.
 */
export function unreadableText(head: Uint8Array): string | undefined {
  const misplaced = misplacedContent(head);
  if (misplaced !== undefined) return misplaced;
  return head.byteLength > 1 && isWide(head) ? 'seems to be UTF-16: save it as UTF-8' : undefined;
}

/** Kinds of files: a pattern of their first bytes as Latin-1, and their description. */
const models: readonly (readonly [begin: RegExp, words: string])[] = [
  [
    /^PK\x03\x04|^PK\x05\x06/,
    'is a zip archive, such as PyTorch writes, not an ONNX model: unpack it, or export the model to ONNX',
  ],
  [/^\x1f\x8b/, 'is compressed with gzip: unpack it'],
  [/^[^]{257}ustar/, 'is a tar archive: unpack it'],
  [
    /^\x80[\x02-\x05]|^\(dp\d|^\(lp\d/,
    "is a pickle of Python's, not an ONNX model: export the model to ONNX, such as with torch.onnx.export or skl2onnx",
  ],
  // safetensors begins with eight bytes that hold the length of a JSON text, and then the text.
  [
    /^[^]{7}\0\{\s*"/,
    'is a file of safetensors, which has weights and no graph: export the model to ONNX, such as with optimum-cli export onnx',
  ],
  [/^\x89HDF\r\n/, 'is a file of HDF5, such as Keras writes: export the model to ONNX, such as with tf2onnx'],
  [/^[^]{4}TFL3/, 'is a model of TensorFlow Lite: export the model to ONNX, such as with tf2onnx'],
  [
    openVinoModel,
    'is a model of OpenVINO, not an ONNX model: name it model.xml, with model.bin beside it, for backend "openvino"',
  ],
  [/^GGUF/, 'is a model of llama.cpp (GGUF): take the model as ONNX'],
  [/^\s*[{[]/, 'is JSON, not an ONNX model: download or export the model again'],
  [/^\0{64}/, 'begins with zeros, as a file does whose copy did not end: copy or download it again'],
];

/**
 * Describes a file that is not an ONNX model, and says what to do; undefined if the file's beginning does not
 * show its kind.
 *
 * @param head - The file's first bytes.
 */
export function foreignContent(head: Uint8Array): string | undefined {
  if (head.byteLength === 0) return 'is empty: write or download the model again';
  const misplaced = misplacedContent(head);
  if (misplaced !== undefined) return misplaced;
  const text = latin1(head);
  return models.find(([begin]) => begin.test(text))?.[1];
}

/** Describes a file that begins like text, and is therefore no model; undefined for other content. */
export function foreignText(head: Uint8Array): string | undefined {
  const text = latin1(head);
  if (!/^[\t\r\n\x20-\x7e]+$/.test(text)) return undefined;
  const shown = `${JSON.stringify(text.slice(0, 40))}${text.length > 40 ? '…' : ''}`;
  return `is a text, not an ONNX model (${shown}): download or export the model again`;
}

/** Kinds of other files, by the ends of their names. */
const extensions: readonly (readonly [end: RegExp, words: string])[] = [
  [
    /\.(pkl|pickle|joblib)$/i,
    "is a pickle of Python's: export the model to ONNX, such as with skl2onnx, or load it in a model.py",
  ],
  [
    /\.safetensors$/i,
    'has weights and no graph: export the model to ONNX, such as with optimum-cli export onnx',
  ],
  [
    /\.(pth|ckpt)$|^pytorch_model.*\.bin$/i,
    "has PyTorch's weights: export the model to ONNX, such as with torch.onnx.export or optimum-cli export onnx",
  ],
  [/\.(h5|hdf5|keras)$/i, 'is a model of Keras: export it to ONNX, such as with tf2onnx'],
  [/\.tflite$/i, 'is a model of TensorFlow Lite: export the model to ONNX, such as with tf2onnx'],
  [
    /^saved_model\.pb(txt)?$/i,
    'is a part of a SavedModel of TensorFlow: make the folder model.savedmodel, and move the whole model into it',
  ],
  [/\.pb$/i, 'is a graph of TensorFlow: if it is frozen, with its weights inside, name it model.graphdef'],
  [/\.gguf$/i, 'is a model of llama.cpp: take the model as ONNX'],
  [/\.mlmodel$/i, 'is a model of Core ML: take the model as ONNX'],
  [/\.(zip|gz|tgz|tar|bz2|xz|zst|7z)$/i, 'is an archive: unpack it into the version folder'],
  [
    /\.(part|partial|crdownload|download|tmp|incomplete)$/i,
    'is a download that did not end: download it again',
  ],
  [
    /\.onnx[._]data$/i,
    'has weights of an ONNX model, whose own file is missing: put it beside, as model.onnx',
  ],
];

/** Describes a file by its name, and says what to do; undefined if the name does not show it. */
export function foreignName(name: string): string | undefined {
  return extensions.find(([end]) => end.test(name))?.[1];
}
