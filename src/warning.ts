/**
 * Warns whoever runs the program. On Node it is a warning of the process, which prints it and passes it to listeners;
 * elsewhere it goes to the console. `code` tells one kind of warning from another.
 */
export function warnProcess(message: string, code: string): void {
  const { process, console } = globalThis as {
    process?: { emitWarning?: (message: string, options: { type: string; code: string }) => void };
    console?: { warn(message: string): void };
  };
  if (typeof process?.emitWarning !== "function") console?.warn(message);
  else process.emitWarning(message, { type: "PairstreamWarning", code: `PAIRSTREAM_${code}` });
}
