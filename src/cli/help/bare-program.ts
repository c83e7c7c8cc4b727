/** At most 15 lines of 80 columns. */
export const FIRST_STEPS = `Make images from the command line.

Try it, free and without an account:
  $ imggen generate "a lighthouse at dusk" --sandbox
Set it up, with your own generator or a hosted service:
  $ imggen setup
  $ imggen login
Make one image, or many:
  $ imggen generate "a red fox" --output fox.png
  $ imggen batch prompts.txt --output pictures/
List tasks and images:
  $ imggen history

All commands: imggen --help
One command or topic: imggen help <command or topic>`;
