// npm run simulate: prepares the clone and starts the simulation. Arguments are passed on: npm run simulate -- --help
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
