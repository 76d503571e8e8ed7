// npm run chaos: from whatever state the clone is in to a summary. Arguments go to the run: npm run chaos -- --help
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

try {
  await prepare();
  const args = ['test/dist/chaos/main.js', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
