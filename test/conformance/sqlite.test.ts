/** The suites of task stores on SQLite. */
import { openOnSqlite } from './open-task-stores.js';
import { describeTaskStore } from './task-store-suites.js';

describeTaskStore('SQLite', openOnSqlite);
