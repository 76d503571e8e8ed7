/** `wb` and the agent on Windows (Wine) with a hub on Linux whose authority is in the store of Windows; `npm run test:windows` runs this test. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { authority } from '../support/hubs/certificates.js';
import { windowsHost } from './windows-host.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
/** Store of the user for authorities that are trusted. */
const STORE = String.raw`HKCU\Software\Microsoft\SystemCertificates\Root\Certificates`;
/** Number of the property that is the certificate itself (CERT_CERT_PROP_ID). */
const CERTIFICATE = 32;

const { nodeBinary } = (await import(
  new URL('../../deploy/package/one-file/node-binary.mjs', import.meta.url).href
)) as { nodeBinary(system: string): { readonly program: string } };

let pem = '';
const host = windowsHost(async (folder) => {
  const company = await authority(folder, 'company');
  ({ pem } = company);
  return { server: { port: 0, tls: await company.issue({ name: 'hub', hosts: ['127.0.0.1'] }) } };
});

/** Command of the shell that puts the company's authority into the store of the user. */
function addToStore(): string {
  const { raw, fingerprint } = new X509Certificate(pem);
  const head = Buffer.alloc(12);
  for (const [index, value] of [CERTIFICATE, 1, raw.length].entries()) head.writeUInt32LE(value, 4 * index);
  const blob = Buffer.concat([head, raw]).toString('hex');
  const key = `${STORE}\\${fingerprint.replaceAll(':', '')}`;
  return `wine reg add '${key}' /v Blob /t REG_BINARY /d ${blob} /f > registry.txt 2>&1`;
}

/** Starts Windows, calls `wb` there and then an agent, with outputs under this name. */
function callBoth(name: string, before = 'true'): void {
  host.session(
    `${before}
export WB_PROFILES='Z:${join(host.folder, 'profiles.json')}'
wine ${nodeBinary('win-x64').program} ${ROOT}/packages/cli/bin/wb.js tasks --hub ${host.address} > ${name}.txt 2>&1
echo "exit $?" >> ${name}.txt
agent --config agent.yaml >> ${name}.log 2>&1`,
    [ROOT],
  );
}

const textOf = (file: string) => {
  const path = join(host.folder, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
};
const has = (file: string, words: RegExp) =>
  expect.poll(() => textOf(file), { timeout: 120_000 }).toMatch(words);

it('the hub is trusted once its authority is in the store, and refused before, with what to do', async () => {
  host.configure();
  callBoth('before');
  await has(
    'before.txt',
    /its certificate is signed by no authority that is trusted here .*--ca-file, or WB_CA_FILE, or add it to those that this system trusts\s+exit 4/,
  );
  await has('before.log', /not joined.*set \\"tls\.ca\\" to .*, or add it to those that this system trusts/);

  callBoth('after', addToStore());
  await has('after.txt', /exit 0/);
  await has('after.log', /"joined the hub"/);
});
