/** A file's text, put in place by the build and by the test runner. */
declare module "*?raw" {
  const text: string;
  export default text;
}
