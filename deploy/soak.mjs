// npm run soak: prepares the clone and starts the soak run. Arguments are passed on: npm run soak -- --help
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

try {
  await prepare();
  const args = ['test/dist/soak/main.js', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
