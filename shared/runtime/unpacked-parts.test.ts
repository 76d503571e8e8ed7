import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { placeFile, unpackedModule } from './unpacked-parts.js';

it('places a file once, and again when it was changed', () => {
  const above = mkdtempSync(join(tmpdir(), 'unpacked-parts-'));
  onTestFinished(() => rmSync(above, { recursive: true, force: true }));
  const path = join(above, 'native', 'koffi.node');
  const place = () => placeFile(Buffer.from('module'), path);
  expect([place(), readFileSync(path, 'utf8')]).toEqual([path, 'module']);
  const { ino } = statSync(path);
  expect([place(), statSync(path).ino]).toEqual([path, ino]);
  writeFileSync(path, 'broken');
  expect([place(), readFileSync(path, 'utf8')]).toEqual([path, 'module']);
  expect(readdirSync(join(above, 'native'))).toEqual(['koffi.node']);
});

it('unpacks nothing before it knows where', () => {
  expect(() => unpackedModule('koffi.node')).toThrow('no folder into which koffi.node could be unpacked');
});
