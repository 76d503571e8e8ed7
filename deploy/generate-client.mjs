// npm run generate-client: types and calls of packages/client from the hub's OpenAPI document. With --check it changes
// nothing, and fails when the committed files differ. The hub must be built.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = join(root, 'packages/client/generated');

/** The OpenAPI document of a hub with the default settings. */
async function openApiDocument(folder) {
  const config = join(folder, 'hub.yaml');
  writeFileSync(config, JSON.stringify({ server: { port: 0 }, dataDir: join(folder, 'data') }));
  const hub = spawn(process.execPath, [join(root, 'hub/bin/workbench-hub.js'), '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(hub, 'exit').then(([code]) => {
    throw new Error(`the hub ended (${code}); build it first: npm run build`);
  });
  ended.catch(() => undefined);
  try {
    const address = await Promise.race([addressIn(hub.stdout), ended]);
    const response = await fetch(`${address}/openapi.json`);
    return await response.json();
  } finally {
    hub.kill();
    await ended.catch(() => undefined);
  }
}

async function addressIn(output) {
  for await (const line of createInterface({ input: output })) {
    const { address } = JSON.parse(line);
    if (address !== undefined) return address;
  }
  throw new Error('the hub did not tell its address');
}

/** Leaves out API generation 1.x, which new clients do not use, and the schemas that nothing refers to then. */
function withoutFirstGeneration(document) {
  for (const path of Object.keys(document.paths)) if (/^\/api\/1\./.test(path)) delete document.paths[path];
  const { schemas } = document.components;
  const used = new Set();
  const visit = (value) => {
    if (typeof value !== 'object' || value === null) return;
    const name = typeof value.$ref === 'string' ? value.$ref.split('/').pop() : undefined;
    if (name !== undefined && !used.has(name)) {
      used.add(name);
      visit(schemas[name]);
    }
    for (const each of Object.values(value)) visit(each);
  };
  visit(document.paths);
  for (const name of Object.keys(schemas)) if (!used.has(name)) delete schemas[name];
  // The version of the hub changes without a change of its interface.
  document.info.version = '0';
  return document;
}

/** Texts of the files beneath a folder, by relative path. */
function filesBelow(folder) {
  return Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  );
}

const isCheck = process.argv.includes('--check');
const folder = mkdtempSync(join(tmpdir(), 'workbench-generate-'));
try {
  const input = withoutFirstGeneration(await openApiDocument(folder));
  const output = isCheck ? join(folder, 'generated') : target;
  await createClient({
    input,
    output: { path: output, importFileExtension: '.js', clean: true },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    logs: { level: 'silent', file: false },
  });
  if (isCheck) {
    const [committed, fresh] = [filesBelow(target), filesBelow(output)];
    const names = [...new Set([...Object.keys(committed), ...Object.keys(fresh)])];
    const changed = names.filter((name) => committed[name] !== fresh[name]);
    if (changed.length > 0) {
      console.error(
        `packages/client/generated is out of date (${changed.join(', ')}): npm run generate-client`,
      );
      process.exitCode = 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
