// npm run mutate: prepares the clone and tries changes of its code. Arguments are passed on: npm run mutate -- --help
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

try {
  await prepare();
  const args = ['test/dist/mutation/main.js', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
