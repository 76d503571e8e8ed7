// npm run setup: installs and builds what hub, agent and instance programs need, and no more.
import { prepare } from './prepare.mjs';

try {
  await prepare({ forDevelopment: false });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
