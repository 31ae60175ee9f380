// What a file of the repository says in words, and what it says in code.

/** Comments (the first group) and the literals in which `//` or `#` begins no comment, by language. */
const tokens = {
  script:
    /(\/\/[^\n]*|\/\*[^]*?\*\/)|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|(?<=(?:[(,=:[!&|?{};]|return)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g,
  c: /(\/\/[^\n]*|\/\*[^]*?\*\/)|R"(\w*)\([^]*?\)\2"|"(?:\\.|[^"\\\n])*"|(?<!\d)'(?:\\.|[^'\\\n])+'/g,
  python: /(#[^\n]*|"""[^]*?""")|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g,
};
const languages = new Map([
  ...['ts', 'mjs', 'js', 'cjs'].map((extension) => [extension, 'script']),
  ...['h', 'cc'].map((extension) => [extension, 'c']),
  ['py', 'python'],
  ['md', 'markdown'],
]);

/** The extension of a path, without the dot; '' if there is none. */
export function extensionOf(path) {
  return /\.(\w+)$/.exec(path)?.[1] ?? '';
}

/** The language of a file: script, c, python or markdown. Undefined: the file is not read. */
export function languageOf(path) {
  return languages.get(extensionOf(path));
}

/** The text with spaces in place of all that is not a line break. */
const blank = (text) => text.replace(/[^\n]/g, ' ');

/**
 * A file's prose (its comments, or a page without its programs) and its code. Both have the length of the text, so that
 * a place in one of them is a place in the file.
 */
export function partsOf(path, text) {
  const language = languageOf(path);
  if (language === 'markdown') {
    const prose = text.replace(/^(`{3,})(?!text|sh\b|bash)\w[^]*?^\1\s*$/gm, blank);
    return { prose, code: '' };
  }
  let prose = '';
  let code = '';
  let end = 0;
  for (const found of text.matchAll(tokens[language])) {
    const [token, comment] = found;
    const before = text.slice(end, found.index);
    prose += blank(before) + (comment === undefined ? blank(token) : token);
    code += before + (comment === undefined ? token : blank(token));
    end = found.index + token.length;
  }
  return { prose: prose + blank(text.slice(end)), code: code + text.slice(end) };
}

/** The number of the line of a place in a text. */
export function lineOf(text, place) {
  return text.slice(0, place).split('\n').length;
}
