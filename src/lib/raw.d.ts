/** The build and the test runner replace an import of `<file>?raw` with the text of the file. */
declare module "*?raw" {
  const text: string;
  export default text;
}
