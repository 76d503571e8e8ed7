import { afterEach, expect, it, vi } from 'vitest';
import { ElsewhereError, readModel } from './solid-model.js';

const FORM = 0x46546c67;
const JSON_CHUNK = 0x4e4f534a;

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A file of glTF in its binary form, with these chunks of JSON one after the other. */
function binary(...parts: object[]): ArrayBuffer {
  const texts = parts.map((part) => new TextEncoder().encode(JSON.stringify(part)));
  const length = texts.reduce((sum, text) => sum + 8 + text.length, 12);
  const file = new Uint8Array(length);
  const words = new DataView(file.buffer);
  for (const [at, word] of [FORM, 2, length].entries()) words.setUint32(4 * at, word, true);
  let at = 12;
  for (const text of texts) {
    words.setUint32(at, text.length, true);
    words.setUint32(at + 4, JSON_CHUNK, true);
    file.set(text, at + 8);
    at += 8 + text.length;
  }
  return file.buffer;
}

/** A model with one corner, whose numbers are at this address. */
function modelAt(uri: string): object {
  return {
    asset: { version: '2.0' },
    buffers: [{ uri, byteLength: 12 }],
    bufferViews: [{ buffer: 0, byteLength: 12 }],
    accessors: [{ bufferView: 0, componentType: 5126, count: 1, type: 'VEC3' }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0 }, mode: 0 }] }],
    nodes: [{ mesh: 0 }],
    scenes: [{ nodes: [0] }],
    scene: 0,
  };
}

const LOG_OUT = 'https://hub.example.com/api/2.0/auth/logout';

it.each([
  ['in its only chunk', binary(modelAt(LOG_OUT))],
  ['in a second chunk', binary({ asset: { version: '2.0' } }, modelAt(LOG_OUT))],
  ['as text', new TextEncoder().encode(JSON.stringify(modelAt(LOG_OUT))).buffer],
])('asks for no address that a model names %s', async (_, content) => {
  const asked = vi.fn(() => Promise.reject(new Error('nothing is there')));
  vi.stubGlobal('fetch', asked);
  await expect(readModel('model.glb', content)).rejects.toThrow(ElsewhereError);
  expect(asked).not.toHaveBeenCalled();
});
