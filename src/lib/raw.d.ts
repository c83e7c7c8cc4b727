/** Replaced by the build and the test runner with the file's text. */
declare module "*?raw" {
  const text: string;
  export default text;
}
