/** The package's version, as package.json says; a test compares them. */
export const packageVersion = '0.1.0';
