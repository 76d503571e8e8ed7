/** Tests that Windows cannot run, each with the reason. */

/** Files of tests. */
export const FILES_NOT_ON_WINDOWS: Readonly<Record<string, string>> = {
  'agent/*.test.ts': 'their programs run scripts with sh; test/windows has the agent with scripts of Windows',
  'agent/process/{bubblewrap,sandbox-mounts,linux,linux-control-groups}.test.ts': 'features of Linux',
  'packages/runner/{calculix,interpreter,main,processes,runner,runner-program,script-process,several-instances}.test.ts':
    'their scripts are for sh or Python; test/windows runs scripts by the runner',
  'shared/runtime/run-program.test.ts': 'a process cannot send a signal to another',
};

/** Titles of single tests. */
export const TESTS_NOT_ON_WINDOWS: Readonly<Record<string, string>> = {
  'has reports until they are acknowledged, also after a crash':
    'the files of a crashed process are still open in this one',
  'removes blobs that no report names': 'the files of a crashed process are still open in this one',
  'in place of a folder without permissions, changes no permissions': 'there are no modes',
  'before the staging, returns the job': 'a folder with an open file cannot be replaced',
  'a directory that cannot be removed is logged with the remedy, and the start continues':
    'the remedy has a path with "/"',
  'a program starts also when the folder of the agent cannot be entered':
    'the working directory of a process cannot be removed',
  'that is kept gets the name of its attempt, and outlasts a restart':
    'the prepared directory of a sandbox, which there is none of',
  'with names that are not UTF-8 are left out, with the reason': 'names are UTF-16',
  'that change while they are read are whole and match their digest': 'an open file is not replaced',
  'are moved when the directory is discarded, and copied otherwise':
    'nothing is moved where a folder has no handle',
  'are never pipes, sockets or devices, which block nothing': 'pipes are no files',
  'are searched for up to their limit, and the names of others are kept up to one':
    'names with a backslash are paths',
  'is left out, with the reason, when its name is too long': 'names with a backslash are paths',
  'is removed when it is discarded, with staged files in folders, and without those that the job removed':
    'there are no modes',
  'without permissions is collected and removed nevertheless': 'there are no modes',
  'has executable scripts from a blob that came now': 'a file is a program by its extension',
  'has executable scripts from a blob that was cached by an earlier version':
    'a file is a program by its extension',
  'is resolved through links': 'Wine has no links to files',
  'has as much as a program can be started with, and what fits of the rest': 'the limits are those of Linux',
  'is not run by a link that leads to the program of another user':
    'the owner of a program does not count there',
  'tries a blob again that cannot be read for now, and counts one that is gone as lost':
    'a link to itself is no file there',
  'logs how many lines were lost, once it can write again': 'pipes are no files',
  'are beside its modules, and not those of folders above, which may belong to anybody':
    'its paths are those of Linux',
  'are also those of node_modules in which it is installed': 'its paths are those of Linux',
  'is private, in a folder that is created, and appended to': 'there are no modes',
  'begins anew when it is full, with whole lines, and keeps the latest full files': 'there are no modes',
  'creates a file for its owner once, and leaves nothing beside it': 'there are no modes',
  'keeps a version that is whole, as a program that its owner alone may use': 'there are no modes',
};
