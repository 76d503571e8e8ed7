/** Messages of allocations that are over: a reason, and the end of what the job printed. */

const MARK = '; its output ends with: ';
/** End of the output that is kept, in characters. */
const KEPT_OUTPUT = 2000;

/** A reason with the end of the output, if there is any. */
export function withOutput(reason: string, output: string): string {
  const end = output.trim().slice(-KEPT_OUTPUT);
  return end === '' ? reason : `${reason}${MARK}${end}`;
}

/** The reason alone: what a job printed says nothing about why it ended. */
export function reasonOf(message: string): string {
  const [reason = ''] = message.split(MARK, 1);
  return reason;
}
