// npm run simulate: from whatever state the clone is in to a summary. Arguments go to the simulation: npm run simulate -- --help
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

try {
  await prepare();
  const args = ['test/dist/simulation/main.js', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
