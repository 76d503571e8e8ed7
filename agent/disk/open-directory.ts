import { existsSync } from 'node:fs';
import type { OpenDirectory } from './directory.js';
import { LinuxDirectory } from './linux-directory.js';
import { PortableDirectory } from './portable-directory.js';

/** Implementation for this system. */
export const openDirectory: OpenDirectory =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? LinuxDirectory.open : PortableDirectory.open;
