/** Tests of what the package has on Linux with glibc alone. */

const report = process.report.getReport() as { readonly header?: { readonly glibcVersionRuntime?: string } };

/** The reason to skip such tests; false: none. */
export const onlyGlibc: string | false =
  process.platform === 'linux' && report.header?.glibcVersionRuntime !== undefined
    ? false
    : 'this is no Linux with glibc';
