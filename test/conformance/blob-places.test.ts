/** Each place of blobs passes the same suite. */
import { describe } from 'vitest';
import { describeBlobPlace } from './blob-place-suite.js';
import { openInFolder, openInObjectStore } from './open-blob-places.js';
import { openOnPostgres, openOnSqlite } from './open-task-stores.js';

describe('in a folder', () => describeBlobPlace(() => openInFolder(false)));
describe('in a folder on another file system', () => describeBlobPlace(() => openInFolder(true)));
describe('in an object store, with a catalogue on SQLite', () =>
  describeBlobPlace(() => openInObjectStore(openOnSqlite)));
describe('in an object store, with a catalogue on PostgreSQL', () =>
  describeBlobPlace(() => openInObjectStore(openOnPostgres)));
