/** Preloaded into hub and agents (`node --import`): their clock jumps when they get SIGUSR2, by as much as a file says. */
import { readFileSync } from 'node:fs';

const file = process.env['CHAOS_CLOCK_FILE'] ?? '';
const now = Date.now;
let offsetMs = 0;

function jump(): void {
  try {
    offsetMs = Number(readFileSync(file, 'utf8'));
  } catch {
    offsetMs = 0; // it has not jumped yet
  }
}

// Child processes keep the true time.
delete process.env['NODE_OPTIONS'];
jump();
process.on('SIGUSR2', jump);
Date.now = () => now() + offsetMs;
