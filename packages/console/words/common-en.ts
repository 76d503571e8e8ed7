/** Words that many screens use. */
export const en = {
  hub: 'Workbench Hub',
  status: {
    WAITING: 'Waiting',
    RUNNING: 'Running',
    FINISHED: 'Finished',
    FAILED: 'Failed',
    CANCELED: 'Canceled',
  },
  priority: {
    HIGHEST: 'Highest',
    HIGH: 'High',
    NORMAL: 'Normal',
    LOW: 'Low',
    LOWEST: 'Lowest',
  },
  loading: 'Loading',
  again: 'Try again',
  close: 'Close',
  refused: 'You may not see this',
  refusedWhy: (role: string) => `This takes the role ${role}. Ask an administrator of the hub.`,
  failed: 'This could not be loaded',
  copy: 'Copy',
  copied: 'Copied',
  noName: 'without a name',
};
