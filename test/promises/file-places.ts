import { type PagePromises, PROMISES_NOTHING, test } from './promises.js';

export const FILE_PLACES: PagePromises = {
  page: 'packages/docs/file-places.md',
  blocks: [
    { begins: 'For the administrators of', heldBy: PROMISES_NOTHING },
    {
      begins: 'Files up to 32 KiB are in',
      heldBy: [
        test('test/conformance/blob-store.test.ts', 'of %d bytes can be put and read'),
        test('test/contract/input-storage.test.ts', 'is stored nowhere in plain'),
        test(
          'test/contract/storage-folder.test.ts',
          'blobs move there at the start, and new ones are put there',
        ),
        test(
          'test/contract/object-store.test.ts',
          'a hub whose object store is away says so, refuses what needs it',
        ),
      ],
    },
    {
      begins: '| is | `<dataDir>/files`',
      heldBy: [
        test('test/conformance/blob-places.test.ts', 'in a folder on another file system'),
        test('test/conformance/blob-places.test.ts', 'in an object store, with a catalogue on SQLite'),
        test(
          'test/contract/storage-folder.test.ts',
          'blobs move there at the start, and new ones are put there',
        ),
      ],
    },
    { begins: '| speed | highest | that', heldBy: PROMISES_NOTHING },
    {
      begins: '| room | the disk of the',
      heldBy: [
        test('test/conformance/blob-place-suite.ts', 'is gone from the local disk when it is in the place'),
        test(
          'test/contract/object-store.test.ts',
          'a job gets its inputs, and its result stays over a restart',
        ),
      ],
    },
    {
      begins: '| backup | `workbench-hub',
      heldBy: [
        test('test/scenarios/backup.test.ts', 'has every task with its blobs, large or small (%s)'),
        test('test/scenarios/backup.test.ts', 'says that it does not hold files that are elsewhere'),
        test('test/contract/object-store.test.ts', 'backup and restore leave the blobs where they are'),
      ],
    },
    {
      begins: '| loss of the machine | the',
      heldBy: [
        test('test/scenarios/backup.test.ts', 'has every task with its blobs, large or small (%s)'),
        test('test/conformance/blob-place-suite.ts', 'of %d bytes is read as it was put, from any hub'),
        test('test/contract/object-store.test.ts', 'backup and restore leave the blobs where they are'),
      ],
    },
    {
      begins: 'Take the default unless the',
      heldBy: [
        test('test/contract/object-store.test.ts', 'quota and expiry are the same as with a folder'),
        test(
          'test/contract/object-store.test.ts',
          'an upload goes on after a cut and a restart, and a download where it broke',
        ),
        test('test/contract/object-store.test.ts', 'no object has a plain byte that was to be encrypted'),
        test('test/conformance/blob-place-suite.ts', 'is read in part'),
        test('test/contract/several-hubs.test.ts', 'refuse one with another place of blobs, in words'),
      ],
    },
    {
      begins: 'In every place, unfinished',
      heldBy: [
        test(
          'test/contract/object-store.test.ts',
          'an upload goes on after a cut and a restart, and a download where it broke',
        ),
        test('test/contract/resumable-uploads.test.ts', 'with a length beyond the room on the disk is a 507'),
        test('test/conformance/blob-disk.test.ts', 'is content, name, answer for a blob that is %s'),
        test('test/conformance/blob-place-suite.ts', 'is gone from the local disk when it is in the place'),
        test(
          'test/conformance/s3-faults.test.ts',
          'refuses what needs it, keeps the file, and is said to be away',
        ),
        test(
          'test/scenarios/damaged-database.test.ts',
          'was being written when it was killed has every task accepted with 201',
        ),
      ],
    },
    {
      begins: 'Mount it so that the hub',
      heldBy: [
        test(
          'test/repository/systemd-units.test.ts',
          'the unit of the %s lets it write its own folders only',
        ),
        test('test/contract/storage-folder.test.ts', 'the start is refused for a folder that cannot be used'),
      ],
    },
    {
      begins: 'says whether a hub can work',
      heldBy: [
        test('test/contract/object-store.test.ts', 'storage check finds nothing wrong, and leaves nothing'),
        test('test/conformance/s3-faults.test.ts', 'is refused for %s'),
        test('test/conformance/s3-faults.test.ts', 'is refused for %o to %s'),
        test('test/conformance/s3-faults.test.ts', 'is refused for a certificate of an unknown authority'),
        test(
          'test/conformance/s3-faults.test.ts',
          'is refused for a key without the right %s, which it names',
        ),
        test(
          'test/conformance/s3-faults.test.ts',
          'is refused, within seconds, by a store that does not respond',
        ),
      ],
    },
    {
      begins: 'No log and no message shows',
      heldBy: [
        test('test/conformance/s3-faults.test.ts', 'keys are read again, so that they can be replaced'),
        test('test/conformance/s3-faults.test.ts', 'is refused for %o to %s'),
        test(
          'test/contract/object-store.test.ts',
          'a hub whose object store is away says so, refuses what needs it',
        ),
        test('test/contract/object-store.test.ts', 'doctor says when the object store is away'),
      ],
    },
    {
      begins: 'The key needs these rights',
      heldBy: [
        test('test/conformance/s3-faults.test.ts', 'the hub uses the rights of the page, and no others'),
        test(
          'test/conformance/s3-faults.test.ts',
          'is refused for a key without the right %s, which it names',
        ),
      ],
    },
    {
      begins: 'Give the bucket to the hub',
      heldBy: [
        test(
          'test/conformance/s3-faults.test.ts',
          'several hubs may share a bucket: keys begin with the prefix and the name of the database',
        ),
        test('test/conformance/blob-catalogue-suite.ts', 'has a name that stays'),
        test('test/contract/object-store.test.ts', 'no object has a plain byte that was to be encrypted'),
      ],
    },
    {
      begins: '- **Abort incomplete uploads',
      heldBy: [
        test('test/conformance/s3-faults.test.ts', 'of a killed hub is aborted by a sweep after a day'),
        test(
          'test/conformance/s3-faults.test.ts',
          'of a store that cannot list them is left to the rules of the bucket',
        ),
      ],
    },
    {
      begins: '- **No rule that expires',
      heldBy: [
        test('test/contract/object-store.test.ts', 'the object goes with the last name'),
        test('test/contract/quota.test.ts', 'a deleted file is removed at once, and its space is free'),
        test('test/contract/quota.test.ts', 'that is deleted frees the space of its outputs within seconds'),
      ],
    },
    { begins: '- **Versions**, if the bucket', heldBy: PROMISES_NOTHING },
    {
      begins: '- Encryption by the bucket',
      heldBy: [
        test('test/contract/object-store.test.ts', 'no object has a plain byte that was to be encrypted'),
        test(
          'test/conformance/s3-faults.test.ts',
          'several hubs may share a bucket: keys begin with the prefix and the name of the database',
        ),
      ],
    },
    {
      begins: '`/readyz` responds with 503,',
      heldBy: [
        test(
          'test/contract/object-store.test.ts',
          'a hub whose object store is away says so, refuses what needs it',
        ),
        test(
          'test/conformance/s3-faults.test.ts',
          'refuses what needs it, keeps the file, and is said to be away',
        ),
        test('test/conformance/s3-faults.test.ts', 'of an upload, %s, is not noticed'),
        test(
          'test/conformance/s3-faults.test.ts',
          'of a download that breaks again and again is not noticed',
        ),
        test(
          'agent/inputs-and-results.test.ts',
          'a result that the hub does not take at first is uploaded again',
        ),
        test('shared/hub-link/http-files.test.ts', 'that the hub lacks or refuses are told apart'),
      ],
    },
    {
      begins: 'When the object store is',
      heldBy: [
        test('test/conformance/s3-faults.test.ts', 'is STORAGE_FULL to clients (%d %s)'),
        test('test/contract/resumable-uploads.test.ts', 'with a length beyond the room on the disk is a 507'),
      ],
    },
    {
      begins: 'The last request of an upload',
      heldBy: [
        test(
          'test/conformance/blob-place-suite.ts',
          'exists under its name only when the step in turn has ended',
        ),
        test(
          'test/conformance/interrupted-transfers.test.ts',
          'that is stored slowly is waited for by its sender, who sends nothing again',
        ),
        test(
          'test/conformance/interrupted-transfers.test.ts',
          'that could not be stored is stored by the next try, which sends nothing',
        ),
        test('shared/hub-link/http-files.test.ts', 'are sent from the offset that the hub has reached'),
      ],
    },
    {
      begins: 'To move the files of a hub',
      heldBy: [
        test(
          'test/contract/object-store.test.ts',
          'blobs of a folder are moved at the start, and are missed without the object store',
        ),
        test(
          'test/contract/object-store.test.ts',
          'a move of blobs that was interrupted goes on at the next start',
        ),
        test(
          'test/contract/storage-folder.test.ts',
          'blobs move there at the start, and new ones are put there',
        ),
        test(
          'test/conformance/s3-faults.test.ts',
          'is refused for a bucket that has none of the objects of the catalogue',
        ),
      ],
    },
    {
      begins: 'A backup of the hub then',
      heldBy: [
        test('test/scenarios/backup.test.ts', 'says that it does not hold files that are elsewhere'),
        test('test/contract/object-store.test.ts', 'backup and restore leave the blobs where they are'),
        test(
          'test/contract/object-store.test.ts',
          'doctor reads every object, and names missing and damaged ones',
        ),
        test(
          'test/contract/doctor.test.ts',
          'finds blobs that are missing, truncated or damaged, and the tasks that refer to them',
        ),
      ],
    },
  ],
};
