/** Whether SIGHUP asks a program to read its configuration again. On Windows it comes when the console is closed: Windows ends the
 *  program some seconds later. */
export const RELOADS_ON_HANG_UP = process.platform !== 'win32';

/** Signals that stop a program. Ctrl+Break of Windows is SIGBREAK. */
export const STOP_SIGNALS: readonly NodeJS.Signals[] = RELOADS_ON_HANG_UP
  ? ['SIGTERM', 'SIGINT']
  : ['SIGTERM', 'SIGINT', 'SIGBREAK', 'SIGHUP'];
