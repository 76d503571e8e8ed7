import { invariant, type PagePromises, PROMISES_NOTHING, test } from './promises.js';

/** The page, on real processes. */
const PAGE = 'test/scenarios/storage.test.ts';
const DEFAULTS = test('test/repository/storage-page.test.ts', 'the page on the storage has its defaults');
const INPUT = 'test/contract/input-storage.test.ts';
const NAMES = 'test/contract/input-file-names.test.ts';
const FORMS = 'test/contract/upload-forms.test.ts';
const USERS = 'test/contract/storage-users.test.ts';
const REFERENCES = 'test/contract/storage-references.test.ts';
const QUOTA = 'test/contract/quota.test.ts';
const RESUMABLE = 'test/contract/resumable-uploads.test.ts';
const OUTPUT = 'test/contract/output-storage.test.ts';
const BYTES = 'test/conformance/uploaded-bytes.test.ts';
const NAMED = 'test/conformance/named-objects-suite.ts';
const ENCRYPTED = 'hub/files/encrypted.test.ts';
const SEALED_NAMES = 'test/conformance/encrypted-blob-names.test.ts';
const SWEEPS = 'test/engine/sweeping.test.ts';
const JOBS = 'agent/batch-jobs.test.ts';
const WORKSPACE = 'agent/disk/disk-workspace.test.ts';

const AS_THE_PAGE_SAYS = test(
  PAGE,
  'one upload, two runs and two downloads go as the page on the storage says',
);
const RESUMED_AS_THE_PAGE_SAYS = test(
  PAGE,
  'a resumable upload by hand goes as the page on the storage says',
);
const DURABLE = test('test/conformance/blob-disk.test.ts', 'is content, name, answer for a blob that is %s');
const TAKEN_NAME = test(INPUT, 'with an existing name is refused, unless it may overwrite');
const NOWHERE_IN_PLAIN = test(INPUT, 'that is %s is stored nowhere in plain');
const RESTARTED_AT_A_CUT = test(
  RESUMABLE,
  'keeps what arrived before a cut, and continues there after a restart',
);
const WHOLE_SIZE_COUNTS = test(RESUMABLE, 'counts for the quota with its whole size until it ends');
const OF_FAILED_SCRIPTS = test(OUTPUT, 'names stored files of failed scripts too');
const COMPLETES = test(REFERENCES, 'a transfer that has begun completes although the name is overwritten');
const NEVER_AS_IF_COMPLETE = test(OUTPUT, 'that is damaged is never returned as if it were complete');
const QUOTA_OF_EACH = test(USERS, 'applies to each user separately');
const UNDER_WAY_COUNTS = test(QUOTA, 'an upload in progress counts until it is complete or aborted');

export const STORAGE: PagePromises = {
  page: 'packages/docs/storage.md',
  blocks: [
    {
      begins: 'A model of 10 GiB need not',
      heldBy: [
        AS_THE_PAGE_SAYS,
        test(PAGE, 'a large file takes little of the memory of hub and agent on its way in and out'),
      ],
    },
    {
      begins: '- The **input storage** holds',
      heldBy: [
        test(REFERENCES, 'that is %s reaches the agent under its name'),
        test(REFERENCES, 'may be referred to more than once, beside files with inline content'),
      ],
    },
    {
      begins: '- The **output storage**',
      heldBy: [
        test(JOBS, 'what they put into WORKBENCH_OUTPUT_STORAGE is sent for the output storage'),
        test(OUTPUT, 'names its stored files, with sizes, in 2.x only'),
        test(OUTPUT, 'of a file that is %s returns its bytes under its name'),
      ],
    },
    {
      begins: 'Both are on unless the [configuration](configuration.md)',
      heldBy: [DEFAULTS, test(INPUT, 'the status of the input storage is enabled')],
    },
    {
      begins: 'With security on, each request',
      heldBy: [
        test('test/support/interface/expected-roles.ts', 'USER    POST   /api/2.0/storage/input/upload'),
        test('test/contract/roles.test.ts', 'the table of roles has every endpoint of the hub, and no other'),
        test(USERS, 'is overwritten and deleted by its owner and ADMIN only'),
        test(USERS, 'can be renewed by the owner and ADMIN, and by no other'),
        test(USERS, 'is changed by every USER with storage.input.shared'),
      ],
    },
    {
      begins: '| `GET /api/2.1/storage/input/status`',
      heldBy: [
        test(INPUT, 'the status of the input storage is enabled'),
        test(INPUT, 'the input storage answers all but its status with 423 while it is off'),
      ],
    },
    {
      begins: '| `POST /api/2.0/storage/input/upload`',
      heldBy: [
        test(INPUT, 'that is %s exists after its upload, and not before'),
        test(INPUT, 'is still there after a restart'),
        DURABLE,
        TAKEN_NAME,
        NOWHERE_IN_PLAIN,
        invariant('the storage has what counts'),
      ],
    },
    {
      begins: '| `GET /api/2.0/storage/input/{name}`',
      heldBy: [test(INPUT, 'expires unless it is renewed')],
    },
    {
      begins: '| `DELETE /api/2.0/storage/input/{name}/delete`',
      heldBy: [test(INPUT, 'can be deleted repeatedly')],
    },
    {
      begins: '**The form** is `multipart/form-data`',
      heldBy: [
        test(FORMS, 'with two files'),
        test(FORMS, 'whose file has no name'),
        test(FORMS, 'not for fields beside the file, nor for data after its end'),
      ],
    },
    {
      begins: '**Names** have 3 to 64 characters:',
      heldBy: [
        test(NAMES, 'with every other character'),
        test(NAMES, 'that begins with a minus'),
        test(NAMES, 'that Windows does not allow is refused: %s'),
        test(NAMES, 'that is invalid is refused in paths too: %s'),
      ],
    },
    {
      begins: '**Uploads are atomic.** No',
      heldBy: [
        test(INPUT, 'at %d percent stores nothing and replaces nothing'),
        test(
          PAGE,
          'a hub that is killed during an upload keeps the file to be replaced, and nothing of the new one',
        ),
        test(INPUT, 'that is %s exists after its upload, and not before'),
        RESTARTED_AT_A_CUT,
        invariant('a name stands for what it was given'),
      ],
    },
    {
      begins: '**In tasks**, of all API',
      heldBy: [
        test(REFERENCES, 'that is %s reaches the agent under its name'),
        test('test/contract/earlier-tasks.test.ts', "inputModelReference = { type: 'INPUT_STORAGE'"),
      ],
    },
    {
      begins: 'The script finds the file',
      heldBy: [
        test(JOBS, 'get their files and variables, and give back what is new or changed'),
        test(REFERENCES, 'that is %s reaches the agent under its name'),
        test(REFERENCES, 'may be referred to more than once, beside files with inline content'),
      ],
    },
    {
      begins: 'A task keeps the blob that',
      heldBy: [
        test(REFERENCES, 'stays the same for a task when its name is overwritten or deleted'),
        test(REFERENCES, 'is kept for a waiting task when its name expires %s'),
        test(REFERENCES, "['to a missing model', withModel(['name', 'none.wbpz'])"),
        invariant('inputs are whole'),
      ],
    },
    {
      begins: 'An agent keeps fetched files',
      heldBy: [
        test('agent/inputs-and-results.test.ts', 'a blob is fetched once, however many jobs begin with it'),
        test('agent/disk/disk-cache.test.ts', 'has stored blobs, also after a restart'),
        test('agent/disk/disk-cache.test.ts', 'returns to its limit, oldest first'),
      ],
    },
    {
      begins: 'A large file over an unreliable',
      heldBy: [
        RESUMED_AS_THE_PAGE_SAYS,
        test(
          'test/contract/tus-client.test.ts',
          '64 MiB %s, cut five times, arrive with at most a twentieth sent again',
        ),
        test('test/repository/storage-page.test.ts', 'the size from which on clients send a file in parts'),
        test('test/scenarios/wb-uploads.test.ts', 'a file of 96 MiB, cut five times, arrives whole'),
        test(
          'test/contract/client-uploads.test.ts',
          'continues an upload by its id, without reading what was sent',
        ),
        test('packages/client-python/tests/test_hub.py', 'test_a_large_file_is_sent_in_parts_and_once'),
      ],
    },
    {
      begins: '- **Each offset that the',
      heldBy: [
        test(BYTES, 'tells only what was synced'),
        test(BYTES, 'tells every 16 MiB that they are durable'),
        RESTARTED_AT_A_CUT,
        test(PAGE, 'a hub that is killed during a resumable upload%s goes on with it'),
      ],
    },
    {
      begins: '- **The file appears under',
      heldBy: [
        test(RESUMABLE, 'in parts of any size ends as a file of the input storage'),
        test(RESUMABLE, 'whose content does not have the announced digest is refused and removed'),
        test(RESUMABLE, 'with a name that exists is a 409, unless it may overwrite'),
      ],
    },
    {
      begins: '- **The whole size counts',
      heldBy: [
        WHOLE_SIZE_COUNTS,
        test(RESUMABLE, 'is one of at most 1000 of a user'),
        test(RESUMABLE, 'expires when it makes no progress'),
        test(SWEEPS, 'is removed with its bytes a day after its last progress, and one with progress is not'),
        DEFAULTS,
        test(RESUMABLE, 'can be ended, also while a part arrives'),
      ],
    },
    {
      begins: '- **Encrypted uploads** are',
      heldBy: [
        test(RESUMABLE, 'nothing of an encrypted upload is on the disk in plain while it is unfinished'),
      ],
    },
    { begins: '[The contract](contract/12-additions.md#1220-resumable-uploads)', heldBy: PROMISES_NOTHING },
    {
      begins: 'Each file at the top of `WORKBENCH_OUTPUT_STORAGE`',
      heldBy: [
        test(OUTPUT, 'names its stored files, with sizes, in 2.x only'),
        OF_FAILED_SCRIPTS,
        test(JOBS, 'what they put into WORKBENCH_OUTPUT_STORAGE is sent for the output storage'),
      ],
    },
    {
      begins: 'Folders, links and other',
      heldBy: [
        test(WORKSPACE, 'is left out, with the reason, when its name is too long'),
        test('agent/core/outputs.test.ts', 'its name must not contain control characters'),
        test(WORKSPACE, 'counts towards the limits of outputs'),
        test('agent/core/outputs.test.ts', 'beyond the limits are named with their sizes and the setting'),
        test(JOBS, 'and is left out, as the log says, when the hub says %s'),
        test(
          OUTPUT,
          'the output storage answers 423 while it is off, and the agent is told to send no stored files',
        ),
      ],
    },
    {
      begins: '`GET /api/2.0/storage/output/{name}/download`',
      heldBy: [
        test(OUTPUT, 'of the range %s returns that range'),
        test(OUTPUT, 'is resumed only for an unchanged file, and omitted when the client has it'),
        test(OUTPUT, 'of a file that is %s returns its bytes under its name'),
        AS_THE_PAGE_SAYS,
      ],
    },
    {
      begins: 'Deleting the task does not',
      heldBy: [test(OUTPUT, 'outlives the task'), test(OUTPUT, 'expires, also while the task is kept')],
    },
    {
      begins: 'A name expires `storage.input.expireAfter`',
      heldBy: [
        test(INPUT, 'expires unless it is renewed'),
        test(OUTPUT, 'expires, also while the task is kept'),
        DEFAULTS,
      ],
    },
    {
      begins: 'A blob is removed within',
      heldBy: [
        test(QUOTA, 'a deleted file is removed at once, and its space is free'),
        test(QUOTA, 'that is deleted frees the space of its outputs within seconds'),
        test(REFERENCES, 'is kept for a waiting task when its name expires %s'),
        COMPLETES,
        test(OUTPUT, 'that has begun completes when the file expires meanwhile'),
        test(SWEEPS, 'that seems expired because the clock jumped ahead is back when the clock is set right'),
        test(SWEEPS, 'that has expired by a correct clock is removed an hour later'),
        invariant('what nothing names goes'),
      ],
    },
    {
      begins: '| size of an uploaded file',
      heldBy: [test(INPUT, 'storage.input.maxFileSize: 413 for a file with one byte more'), DEFAULTS],
    },
    {
      begins: '| all files of one user in',
      heldBy: [test(INPUT, 'storage.input.quotaPerUser: 413 that says how much is used'), DEFAULTS],
    },
    {
      begins: '| room on the disk of the',
      heldBy: [
        test(PAGE, 'refuses %s with 507, and keeps nothing of it'),
        test(
          'test/scenarios/full-disks.test.ts',
          'the hub refuses data that is too large, keeps nothing of it',
        ),
      ],
    },
    {
      begins: '| storage off | `storage.input.enabled`,',
      heldBy: [
        test(INPUT, 'the input storage answers all but its status with 423 while it is off'),
        test(REFERENCES, 'with 423 while the input storage is off'),
        test(OUTPUT, 'the output storage answers 423 while it is off'),
      ],
    },
    { begins: 'The quota of a user counts:', heldBy: PROMISES_NOTHING },
    {
      begins: '- each name with its full',
      heldBy: [
        QUOTA_OF_EACH,
        test(NAMED, 'counts the names of an owner without the replaced one'),
        test(NAMED, 'is charged to the latest uploader of an overwritten name'),
      ],
    },
    {
      begins: '- overwritten, deleted or',
      heldBy: [
        test(NAMED, 'counts a former blob until it is removed, and an expired name until it is swept'),
        test(USERS, 'is free again for what was deleted or has expired'),
      ],
    },
    { begins: '- unfinished uploads, with', heldBy: [UNDER_WAY_COUNTS, WHOLE_SIZE_COUNTS] },
    {
      begins: 'So a user takes at most the',
      heldBy: [
        test(QUOTA, 'overwriting one name 25 times leaves one blob'),
        test(QUOTA, 'simultaneous uploads share the quota, and refused ones leave nothing'),
        test(NAMED, 'limits the number of files, too'),
        DEFAULTS,
      ],
    },
    {
      begins: 'With `encrypt=true` a file',
      heldBy: [
        NOWHERE_IN_PLAIN,
        test(ENCRYPTED, 'is encrypted differently each time'),
        test(ENCRYPTED, 'whichever byte of it was changed'),
        test(ENCRYPTED, 'lacks its last chunk'),
        NEVER_AS_IF_COMPLETE,
        test(SEALED_NAMES, 'depends on the key: with another key the blob is not found'),
      ],
    },
    {
      begins: 'The key is `storage.encryptionKey`,',
      heldBy: [
        test('hub/security/storage-key.test.ts', 'a key is created once, for the user of the hub only'),
        test('hub/security/storage-key.test.ts', 'a configured key is used, and none is created'),
        test(ENCRYPTED, 'when it was encrypted with another key, which the error says'),
        test('agent/engine/jobs/blobs.test.ts', 'that a hub fails to deliver is given up after some tries'),
      ],
    },
    {
      begins: 'In an [object store](file-places.md#object-store),',
      heldBy: [
        test('test/contract/object-store.test.ts', 'no object has a plain byte that was to be encrypted'),
      ],
    },
    { begins: 'Encryption does not cover', heldBy: PROMISES_NOTHING },
  ],
};
