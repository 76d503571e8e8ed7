import { type HostSystem, posix } from './host-system.js';

/** The system of this host. */
export async function openHostSystem(): Promise<HostSystem> {
  if (process.platform !== 'win32') return posix;
  // Imported on demand: no other system has them.
  const { openWindows } = await import('./windows-system.js');
  return openWindows();
}
