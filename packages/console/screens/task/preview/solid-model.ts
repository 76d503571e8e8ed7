/** Models in 3-D from files, which may be damaged. */
import {
  type BufferGeometry,
  type Group,
  LoadingManager,
  Mesh,
  MeshStandardMaterial,
  type Object3D,
  Points,
  PointsMaterial,
} from 'three';
import { GLTFLoader } from 'three/examples/jsm/loaders/GLTFLoader.js';
import { PLYLoader } from 'three/examples/jsm/loaders/PLYLoader.js';
import { STLLoader } from 'three/examples/jsm/loaders/STLLoader.js';
import { endingOf } from './kind.js';

const COLOR = 0x9fb4cc;
const STL_HEADER = 84;
const STL_FACE = 50;

/** The model is in other files too, which are not asked for. */
export class ElsewhereError extends Error {
  override readonly name = 'ElsewhereError';
  readonly uris: readonly string[];

  constructor(uris: readonly string[]) {
    super(`the model refers to ${uris.join(', ')}`);
    this.uris = uris;
  }
}

/** Reads a model by the ending of its name. Rejects with {@link ElsewhereError}, or what is wrong with it. */
export async function readModel(name: string, content: ArrayBuffer): Promise<Object3D> {
  const ending = endingOf(name);
  if (ending === 'stl') return objectOf(new STLLoader().parse(checkedStl(content)));
  if (ending === 'ply') return objectOf(new PLYLoader().parse(content));
  return readGltf(content);
}

/** Refuses a file that is shorter than the number of its faces says, before memory is taken for them. */
function checkedStl(content: ArrayBuffer): ArrayBuffer {
  const beginning = new TextDecoder('latin1').decode(content.slice(0, 100));
  if (/^\s*solid\b/.test(beginning)) return content;
  if (content.byteLength < STL_HEADER) throw new RangeError('the file is too short for an STL');
  const faces = new DataView(content).getUint32(80, true);
  if (STL_HEADER + faces * STL_FACE > content.byteLength)
    throw new RangeError(`the file should have ${faces} faces, and ends before them`);
  return content;
}

function objectOf(geometry: BufferGeometry): Object3D {
  const hasColors = geometry.hasAttribute('color');
  const color = { color: hasColors ? 0xffffff : COLOR, vertexColors: hasColors };
  const isCloud =
    geometry.index === null && geometry.type === 'BufferGeometry' && !geometry.hasAttribute('normal');
  if (isCloud) return new Points(geometry, new PointsMaterial({ ...color, size: 2, sizeAttenuation: false }));
  if (!geometry.hasAttribute('normal') || !isLit(geometry)) geometry.computeVertexNormals();
  return new Mesh(geometry, new MeshStandardMaterial({ ...color, roughness: 0.75, side: 2 }));
}

/** Whether its first face has a direction: many programs write an STL without, and leave it to the reader. */
function isLit(geometry: BufferGeometry): boolean {
  const { array } = geometry.getAttribute('normal');
  return array.length < 3 || Math.hypot(array[0] ?? 0, array[1] ?? 0, array[2] ?? 0) > 0.5;
}

interface GltfJson {
  readonly buffers?: readonly { uri?: unknown }[];
  readonly images?: readonly { uri?: unknown }[];
}

async function readGltf(content: ArrayBuffer): Promise<Group> {
  const urls: string[] = [];
  try {
    const { scene } = await new GLTFLoader(ownContentOnly()).parseAsync(withBlobs(content, urls), '');
    return scene;
  } finally {
    for (const url of urls) URL.revokeObjectURL(url);
  }
}

/** Lets the loader read what the file itself holds, whatever address it finds: it may understand a damaged file in another way. */
function ownContentOnly(): LoadingManager {
  return new LoadingManager().setURLModifier((url) => {
    if (!/^(?:blob|data):/.test(url)) throw new ElsewhereError([url.slice(0, 100)]);
    return url;
  });
}

/** Puts embedded files where the page may read them, and refuses a model that needs others. */
function withBlobs(content: ArrayBuffer, urls: string[]): ArrayBuffer | string {
  const isBinary = new TextDecoder('latin1').decode(content.slice(0, 4)) === 'glTF';
  const json = (isBinary ? jsonChunk(content) : JSON.parse(new TextDecoder().decode(content))) as GltfJson;
  const elsewhere: string[] = [];
  for (const part of [...(json.buffers ?? []), ...(json.images ?? [])]) {
    if (typeof part.uri !== 'string') continue;
    if (!part.uri.startsWith('data:')) {
      elsewhere.push(part.uri.slice(0, 100));
      continue;
    }
    const url = URL.createObjectURL(embeddedFile(part.uri));
    urls.push(url);
    part.uri = url;
  }
  if (elsewhere.length > 0) throw new ElsewhereError(elsewhere);
  return isBinary ? content : JSON.stringify(json);
}

function jsonChunk(content: ArrayBuffer): unknown {
  const length = new DataView(content).getUint32(12, true);
  return JSON.parse(new TextDecoder().decode(new Uint8Array(content, 20, length)));
}

function embeddedFile(uri: string): Blob {
  const [, type = '', base64, data = ''] = /^data:([^;,]*)[^,]*?(;base64)?,(.*)$/s.exec(uri) ?? [];
  const text = base64 === undefined ? decodeURIComponent(data) : atob(data);
  return new Blob([Uint8Array.from(text, (character) => character.charCodeAt(0))], { type });
}
