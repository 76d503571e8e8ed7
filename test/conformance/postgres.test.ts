/** The suites of task stores on PostgreSQL. */
import { describe } from 'vitest';
import { hasPostgres } from '../support/postgres.js';
import { openOnPostgres } from './open-task-stores.js';
import { describeTaskStore } from './task-store-suites.js';

describe.skipIf(!hasPostgres)('on a server', () => describeTaskStore('PostgreSQL', openOnPostgres));
