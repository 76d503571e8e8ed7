// npm run soak: prepares the clone and starts the soak run. Arguments are passed on: npm run soak -- --help
import { runLongProgram } from './prepare/run-long.mjs';
import { prepare, root } from './prepare.mjs';

try {
  await prepare();
  const args = ['test/dist/soak/main.js', ...process.argv.slice(2)];
  process.exitCode = await runLongProgram(args, root);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
