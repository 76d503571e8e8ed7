import { type PagePromises, PROMISES_NOTHING, test } from './promises.js';

export const THREAT_MODEL: PagePromises = {
  page: 'packages/docs/threat-model.md',
  blocks: [
    { begins: 'This page lists the assets,', heldBy: PROMISES_NOTHING },
    {
      begins: '| models, scripts and results',
      heldBy: [
        test('test/contract/file-transfer.test.ts', 'of %d bytes can be uploaded, found and downloaded'),
        test('test/conformance/blob-store.test.ts', 'of %d bytes can be put and read'),
        test(
          'test/scenarios/private-files.test.ts',
          'hub and agent keep their files from other users, whatever the umask',
        ),
      ],
    },
    { begins: '| computing time and solver', heldBy: PROMISES_NOTHING },
    { begins: '| the simulation hosts themselves:', heldBy: PROMISES_NOTHING },
    {
      begins: '| passwords, sessions, tokens,',
      heldBy: [
        test(
          'test/contract/secrets.test.ts',
          'the store has none of the secrets that a hub gives out or receives',
        ),
        test('test/contract/configured-users.test.ts', 'only the user of the hub can read accounts and keys'),
        test(
          'test/scenarios/private-files.test.ts',
          'hub and agent keep their files from other users, whatever the umask',
        ),
        test('test/contract/sealed-keys.test.ts', 'are sealed in it with one hub too'),
        test('test/contract/sealed-keys.test.ts', 'of an earlier version stay in clear until there is a key'),
      ],
    },
    {
      begins: '| the record of all actions',
      heldBy: [
        test(
          'test/contract/audit.test.ts',
          'is readable for ADMIN only, and its files for the user of the hub',
        ),
        test('test/contract/audit.test.ts', 'keeps each entry on one line, whatever characters a name has'),
      ],
    },
    {
      begins: '| anybody who reaches the port |',
      heldBy: [
        test('test/contract/roles.test.ts', 'the table of roles has every endpoint of the hub, and no other'),
        test('test/contract/roles.test.ts', '$method $path ($access)'),
        test('test/contract/endpoints.test.ts', 'has no other operation'),
        test('test/contract/endpoints.test.ts', 'answer %s with 404'),
        test('test/contract/console.test.ts', 'serves the page at %s'),
        test('test/scenarios/failures.test.ts', 'refuses to listen beyond loopback while security is off'),
        test('test/contract/loopback-only.test.ts', 'refuses the host name %s'),
      ],
    },
    {
      begins: '| a guesser of passwords',
      heldBy: [
        test('hub/security/passwords.test.ts', 'are hashed at the intended cost, each with its own salt'),
        test(
          'test/contract/login-throttle.test.ts',
          'login is answered with 429 and Retry-After, also with the right password',
        ),
        test('test/contract/login-throttle.test.ts', 'an unknown name is throttled like a known one'),
        test(
          'hub/engine/accounts/password-check.test.ts',
          'is open to its user from locations of logins within twelve hours',
        ),
        test(
          'hub/engine/accounts/password-check.test.ts',
          'is locked there, too, after ten failures from there',
        ),
        test('hub/engine/accounts/password-check.test.ts', 'in the same words, after the same work'),
      ],
    },
    {
      begins: '| a flood of logins | to',
      heldBy: [
        test(
          'hub/engine/accounts/password-check.test.ts',
          'checks two passwords at a time, lets fifty wait, and refuses the others',
        ),
        test(
          'test/contract/login-throttle.test.ts',
          'a flood of logins is refused except for fifty that wait',
        ),
        test('hub/engine/accounts/login-queue.test.ts', 'from one location is one from another location'),
        test(
          'hub/engine/accounts/login-queue.test.ts',
          'from one location is that of a name without failures',
        ),
        test(
          'hub/engine/accounts/login-queue.test.ts',
          'is first of all one by a user who recently logged in from there',
        ),
        test('test/scenarios/login-flood.test.ts', 'does not block users who recently logged in from there'),
        test('hub/http/audit.test.ts', 'accepts at most 16 KiB from an unidentified client'),
      ],
    },
    {
      begins: '| an eavesdropper on the',
      heldBy: [
        test('test/contract/tls.test.ts', 'speaks HTTPS and WSS on its one port'),
        test('test/contract/tls.test.ts', 'closes the connection of a client that speaks plain HTTP'),
        test(
          'test/contract/tls.test.ts',
          'a client that does not trust the authority of the hub sends no request',
        ),
        test(
          'test/scenarios/agents-over-tls.test.ts',
          'when it does not trust the hub, or the hub does not trust it',
        ),
        test('test/scenarios/agents-over-tls.test.ts', 'when the certificate of the hub has expired'),
      ],
    },
    {
      begins: '| a thief of an access token',
      heldBy: [
        test('test/contract/access-tokens.test.ts', 'a token names its session and its user, and no role'),
        test('test/contract/sessions.test.ts', 'ends its session at once and clears the cookie'),
        test(
          'test/contract/configured-users.test.ts',
          'that is listed with another password has to log in again',
        ),
        test(
          'test/scenarios/users-of-a-running-hub.test.ts',
          'a user is added, given roles and a password, disabled, enabled and removed',
        ),
        test('test/contract/deferred-responses.test.ts', 'is refused to a user who was disabled meanwhile'),
        test('test/contract/deferred-responses.test.ts', 'is refused when the session was ended meanwhile'),
        test(
          'test/contract/deferred-responses.test.ts',
          'creates no task when its user was disabled meanwhile',
        ),
      ],
    },
    {
      begins: '| a thief of a refresh token',
      heldBy: [
        test(
          'test/contract/sessions.test.ts',
          'with a token older than the last used one ends the session, for thief and owner',
        ),
        test(
          'test/contract/sessions.test.ts',
          'with a used token is refused, and ends the session nevertheless',
        ),
        test(
          'test/contract/session-lifetime.test.ts',
          'allows a used token again for 15 seconds, and ends with a later use',
        ),
      ],
    },
    {
      begins: '| a thief of the database',
      heldBy: [
        test(
          'test/contract/secrets.test.ts',
          'the store has none of the secrets that a hub gives out or receives',
        ),
        test('test/contract/agent-enrollment.test.ts', 'and a credential are stored as hashes only'),
        test(
          'test/contract/personal-tokens.test.ts',
          'the secret of a personal token is in no list, log or file of the hub, nor in its store',
        ),
        test('test/contract/sealed-keys.test.ts', 'are sealed in it with one hub too'),
        test('test/contract/sealed-keys.test.ts', 'of an earlier version stay in clear until there is a key'),
      ],
    },
    {
      begins: '| a forger of tokens | another',
      heldBy: [
        test('test/contract/access-tokens.test.ts', 'with another algorithm of the same key'),
        test('test/contract/access-tokens.test.ts', 'of a foreign issuer'),
        test('test/contract/access-tokens.test.ts', 'that never expires'),
        test('test/contract/access-tokens.test.ts', 'signed with a key that nobody knows'),
        test('test/contract/oidc.test.ts', 'when it is signed with the public key as a shared secret'),
        test('test/contract/oidc.test.ts', 'of another audience'),
        test('test/contract/oidc.test.ts', 'that never expires'),
        test('test/contract/oidc.test.ts', 'of another issuer'),
        test('test/contract/oidc-provider.test.ts', 'because it names another issuer is refused'),
      ],
    },
    {
      begins: '| a person who may choose',
      heldBy: [
        test('test/contract/oidc.test.ts', 'that could be mistaken for another is refused and logged: %j'),
        test('test/contract/oidc.test.ts', 'that looks like a local user is refused: %j'),
        test('hub/core/names.test.ts', 'such as %j is refused: %s'),
        test('hub/core/names.test.ts', 'is shown by its code points'),
      ],
    },
    {
      begins: '| anybody who reaches the port while',
      heldBy: [
        test(
          'test/contract/oidc-outage.test.ts',
          'a provider that hangs from the start makes a hundred requests wait, and no more',
        ),
        test(
          'test/contract/oidc-outage.test.ts',
          'delays a token that the known keys verify by a second at most',
        ),
      ],
    },
    {
      begins: "| a page in a user's browser",
      heldBy: [
        test('test/contract/roles.test.ts', 'cannot be bypassed by headers of proxies or frameworks'),
        test('hub/http/requests/origins.test.ts', 'refuses %s'),
        test('hub/http/requests/origins.test.ts', 'is login, refresh or logout, also by the sign-on'),
        test('test/contract/login.test.ts', 'sets a cookie in 2.x, which scripts and other sites cannot use'),
        test('test/contract/browser-sign-on.test.ts', 'refuses pages of other origins'),
        test(
          'test/contract/browser-sign-on.test.ts',
          'keeps secrets of browser and provider from each other',
        ),
        test('test/contract/cors.test.ts', 'sends no CORS headers'),
        test('test/contract/security-headers.test.ts', '%s %s: %i'),
        test('test/contract/console.test.ts', 'serves the page at %s'),
      ],
    },
    {
      begins: '| the author of a job whose',
      heldBy: [
        test(
          'test/console/task.test.ts',
          'follows the log as it comes, in its colors and as text only, to the end',
        ),
        test('packages/console/screens/task/sgr.test.ts', 'keeps markup as text'),
        test('packages/console/screens/task/sgr.test.ts', 'is cut into parts with their styles'),
        test('test/console/preview.test.ts', 'show a page as text, and run nothing of it or of an image'),
        test(
          'test/console/preview.test.ts',
          'show an output with the path of another folder as it is, and save it by its name alone',
        ),
        test('packages/console/base/save.test.ts', 'saves %s as %s'),
        test('test/contract/console.test.ts', 'serves the page at %s'),
        test(
          'test/console/sign-on.test.ts',
          'is offered accessibly, works by keyboard, and comes back to the linked screen',
        ),
      ],
    },
    {
      begins: '| a `VIEWER` or `USER` |',
      heldBy: [
        test('test/contract/access-tokens.test.ts', 'a token names its session and its user, and no role'),
        test(
          'test/contract/configured-users.test.ts',
          'that is listed with other roles keeps the session and has those roles',
        ),
        test('test/contract/deferred-responses.test.ts', 'is refused to a user who lost the role meanwhile'),
        test('test/contract/task-owners.test.ts', 'by no other user'),
        test('test/contract/storage-users.test.ts', 'is overwritten and deleted by its owner and ADMIN only'),
        test('test/contract/storage-users.test.ts', 'can be renewed by the owner and ADMIN, and by no other'),
        test('test/contract/storage-users.test.ts', 'is changed by every USER with storage.input.shared'),
      ],
    },
    {
      begins: "| a thief of a script's personal",
      heldBy: [
        test('test/contract/personal-tokens.test.ts', 'expires, and is then no longer listed nor kept'),
        test('test/contract/personal-tokens.test.ts', 'is revoked at once and for good, across a restart'),
        test('test/contract/personal-tokens.test.ts', 'loses rights at once when its user does'),
        test('test/contract/personal-tokens.test.ts', 'with a session, not with another personal token'),
      ],
    },
    {
      begins: '| a hub that a user is lured',
      heldBy: [
        test(
          'test/scenarios/wb-sign-on.test.ts',
          'logs in by a browser, works as the user, and ends the sign-on at the logout',
        ),
        test('test/contract/oidc.test.ts', 'when the provider issued it for another audience'),
      ],
    },
    {
      begins: '| a thief of a profile of',
      heldBy: [
        test(
          'test/scenarios/wb.test.ts',
          'keeps a token in a profile that twenty programs share, and revokes it at the logout',
        ),
        test(
          'test/scenarios/wb-sign-on.test.ts',
          'logs in by a browser, works as the user, and ends the sign-on at the logout',
        ),
        test('test/scenarios/wb-sign-on.test.ts', 'says what to do when the provider has ended it'),
      ],
    },
    {
      begins: '| somebody between hub and agents',
      heldBy: [
        test('agent/updates.test.ts', 'is refused unless it is signed by a pinned key, and for this agent'),
        test('agent/updates.test.ts', 'an agent that hubs never update says why'),
        test('agent/disk/version-folders.test.ts', 'refuses and forgets a damaged download'),
        test('test/contract/agent-updates.test.ts', 'an order is signed with a key that enrollment gives'),
      ],
    },
    {
      begins: '| a machine that poses as',
      heldBy: [
        test('test/contract/agent-credentials.test.ts', 'other than that of the credential is refused'),
        test(
          'test/contract/agent-credentials.test.ts',
          'ends the connection of its agent at once and is refused everywhere',
        ),
        test(
          'test/contract/tls-certificates.test.ts',
          'refuses an agent that shows %s with 401, and logs it',
        ),
        test(
          'test/engine/joining.test.ts',
          'is not believed that it has an attempt that the hub does not know, %s',
        ),
        test(
          'test/contract/agent-enrollment.test.ts',
          'is exchanged for a credential, with which the agent joins and transfers files',
        ),
        test('test/contract/agent-enrollment.test.ts', 'used twice at once succeeds once'),
        test(
          'test/contract/agent-enrollment.test.ts',
          'after thirty wrong codes from an address is answered with 429',
        ),
      ],
    },
    {
      begins: '| a process that outlived',
      heldBy: [
        test('agent/disk/hostile-jobs.test.ts', 'causes no file of the host to be collected or moved'),
        test('agent/disk/hostile-jobs.test.ts', 'causes no file of another job to be staged elsewhere'),
        test('agent/disk/hostile-jobs.test.ts', 'causes no file of the host to be removed'),
        test('agent/disk/hostile-jobs.test.ts', 'before the step %s, adds no output'),
        test(
          'agent/disk/hostile-jobs.test.ts',
          'or another file or folder in place of an opened one is not kept',
        ),
      ],
    },
    {
      begins: '| a job that takes over its',
      heldBy: [
        test('agent/process/program-process.test.ts', 'a program that calls the agent is ended'),
        test(
          'shared/instance-protocol/conversation.test.ts',
          'may not call the agent, and may not fill its memory with what is wrong',
        ),
        test('shared/instance-protocol/conversation.test.ts', 'end after a line that never ends'),
        test(
          'shared/instance-protocol/conversation.test.ts',
          'has the beginning of a long message, as of an error',
        ),
        test('shared/instance-protocol/peer.test.ts', 'takes %s as a violation'),
        test('shared/instance-protocol/peer.test.ts', 'quotes only the beginning of a long line'),
        test(
          'agent/batch-jobs.test.ts',
          'endless output of a script is bounded, and keeps its beginning and end',
        ),
        test(
          'agent/disk/disk-workspace.test.ts',
          'are searched for up to their limit, and the names of others are kept up to one',
        ),
      ],
    },
    {
      begins: '| a job on a [host that comes',
      heldBy: [
        test(
          'hub/workload-managers/run-command.test.ts',
          'keeps the variable %s of the hub from commands, here and elsewhere',
        ),
        test('test/hosts/workload-manager-suite.ts', 'tells nobody the credential'),
      ],
    },
    {
      begins: '| a script that fills the',
      heldBy: [
        test(
          'test/scenarios/full-disks.test.ts',
          'an agent returns a task that failed while its disk was full, and another agent runs it',
        ),
        test(
          'test/scenarios/full-disks.test.ts',
          'a job that fills every disk finally fails, with the reason, the host and its log',
        ),
        test('agent/engine/instances.test.ts', 'no instance takes a task until the cooldown is over'),
      ],
    },
    {
      begins: '| a user with a quota | more',
      heldBy: [
        test('test/contract/quota.test.ts', 'overwriting one name 25 times leaves one blob'),
        test('test/contract/quota.test.ts', 'a deleted file is removed at once, and its space is free'),
        test('test/contract/quota.test.ts', 'an upload in progress counts until it is complete or aborted'),
        test('test/contract/storage-users.test.ts', 'is free again for what was deleted or has expired'),
        test(
          'test/contract/resumable-uploads.test.ts',
          'counts for the quota with its whole size until it ends',
        ),
        test('test/contract/resumable-uploads.test.ts', 'is one of at most 1000 of a user'),
      ],
    },
    {
      begins: '| another user of the same machine | to read',
      heldBy: [
        test(
          'test/scenarios/private-files.test.ts',
          'hub and agent keep their files from other users, whatever the umask',
        ),
        test(
          'test/scenarios/private-files.test.ts',
          'hub and agent report files that other users can access',
        ),
        test('test/contract/doctor.test.ts', 'finds keys that others can read, and remains of a restore'),
      ],
    },
    {
      begins: '| another user of the same machine | to have',
      heldBy: [
        test(
          'agent/process/program-process.test.ts',
          'a program has the folders of the product in its search path, and none of anybody else',
        ),
        test('shared/runtime/find-program.test.ts', 'are beside its modules, and not those of folders above'),
        test(
          'shared/runtime/find-program.test.ts',
          'come first in the search path, and the folder of this Node last',
        ),
      ],
    },
    {
      begins: '| somebody who has an agent',
      heldBy: [
        test(
          'shared/joining/hub-addresses.test.ts',
          'are learned with the scheme of the hub that tells them only',
        ),
        test('agent/several-hubs.test.ts', 'with another scheme, does not use its address, and says so'),
        test('agent/several-hubs.test.ts', 'keeps its address in memory only'),
        test(
          'test/scenarios/agents-over-tls.test.ts',
          'when it does not trust the hub, or the hub does not trust it',
        ),
      ],
    },
    {
      begins: '| anybody who reaches the port, or',
      heldBy: [
        test(
          'hub/http/requests/admission.test.ts',
          'leaves each user room beside one who takes all that he gets',
        ),
        test(
          'hub/http/requests/admission.test.ts',
          'gives a quarter to senders that are not known, by address',
        ),
        test('hub/http/requests/admission.test.ts', 'shares the memory for bodies by user'),
        test(
          'test/contract/fair-shares.test.ts',
          'logins without a body hold up neither those who are logged in nor other addresses',
        ),
        test(
          'test/contract/fair-shares.test.ts',
          'a user who waits for many results leaves room for the others',
        ),
        test(
          'hub/http/routing/responses/deferred-call.test.ts',
          'keeps nothing of what its client has sent but the path and the authorization',
        ),
      ],
    },
    {
      begins: '| a user with many streams',
      heldBy: [
        test('test/contract/fair-shares.test.ts', 'a user has at most 16 streams of events, with 8 filters'),
        test('test/contract/fair-shares.test.ts', 'a user follows at most 64 logs'),
        test('test/engine/change-feed.test.ts', 'gives users turns: one who listens at many places'),
        test(
          'test/engine/change-feed.test.ts',
          'lets other work have its turn between places that take long',
        ),
        test(
          'hub/engine/following/log-follower.test.ts',
          'stops reading the log, and closes its file, when its client has left',
        ),
      ],
    },
    {
      begins: '| a client that is slow,',
      heldBy: [
        test(
          'hub/http/wire/server/web-server.test.ts',
          'that sends its body a byte at a time is refused with 408',
        ),
        test('hub/http/wire/server/web-server.test.ts', 'that reads nothing of its response is cut off'),
        test('hub/http/wire/server/web-server.test.ts', 'a request beyond the limits'),
        test('hub/http/wire/server/web-server.test.ts', 'are processed one after the other, in order'),
        test('hub/http/requests/parsing/body-chunks.test.ts', 'a body may have 5000 chunks of any size'),
        test('test/contract/faults.test.ts', 'is answered with 413 before it has arrived'),
        test(
          'test/contract/input-storage.test.ts',
          'storage.input.maxFileSize: 413 for a file with one byte more',
        ),
        test('test/contract/input-file-names.test.ts', 'the name of an input file'),
        test(
          'test/scenarios/unread-responses.test.ts',
          'unread responses use limits.answersInMemory at most',
        ),
        test(
          'test/contract/agent-upgrades.test.ts',
          'whose first message has 100 MB is closed with 1009 before the message is received',
        ),
        test(
          'hub/agent-link/connection.test.ts',
          'what an agent sends while the store does not respond is read up to a limit',
        ),
      ],
    },
    {
      begins: '| a user who requests costly',
      heldBy: [
        test('test/contract/task-list.test.ts', 'has at most 256 characters: %s'),
        test('shared/domain/wildcard.test.ts', 'is compared in few steps for each character: %s'),
        test(
          'hub/store/sqlite/lists/filter-condition.test.ts',
          'has GLOB look for short runs only, of which few texts match those of a long one',
        ),
        test('hub/engine/tasks/list-turns.test.ts', 'clients take turns, however much one of them asks for'),
        test(
          'test/contract/costly-lists.test.ts',
          'a plain list of one user is answered while costly lists of another run',
        ),
        test(
          'test/contract/costly-lists.test.ts',
          'the waiting lists of one user are limited to a share, and dropped when their client has gone',
        ),
      ],
    },
    {
      begins: '| a user who names an address',
      heldBy: [
        test('test/contract/webhooks.test.ts', 'must be at or below one that the configuration allows'),
        test('test/contract/webhooks.test.ts', 'is not reached by a name, whatever it resolves to'),
        test('test/contract/webhooks.test.ts', 'is reached at the checked address only'),
        test('test/contract/webhooks.test.ts', 'needs none only when the configuration says so'),
        test('test/contract/webhooks.test.ts', 'that %s gets the webhook again'),
        test('hub/webhooks/permitted-addresses.test.ts', 'are the public ones'),
        test(
          'hub/webhooks/permitted-addresses.test.ts',
          'are also those of the networks that the configuration names',
        ),
      ],
    },
    {
      begins: '| somebody who can reach',
      heldBy: [
        test('test/contract/webhooks.test.ts', 'tells of each end with the task as events show it, signed'),
        test(
          'test/contract/webhooks.test.ts',
          'has a secret for each receiver, and a signature by each key of the hub',
        ),
      ],
    },
    {
      begins: '| a receiver that is slow,',
      heldBy: [
        test('test/contract/webhooks.test.ts', 'that %s gets the webhook again'),
        test('test/contract/webhooks.test.ts', 'that responds without end is not read'),
        test('test/contract/webhooks.test.ts', 'that is slow does not keep others from theirs'),
        test('test/contract/webhooks.test.ts', 'cannot keep more waiting than the configuration allows'),
        test('test/engine/webhooks.test.ts', 'holds up no other address of its origin, whatever it asks for'),
      ],
    },
    {
      begins: '| a neighbor of a reverse',
      heldBy: [
        test(
          'test/contract/audit.test.ts',
          'takes the address from a trusted proxy, and not from the client',
        ),
        test('hub/http/wire/client.test.ts', 'the address of a client'),
        test(
          'test/contract/sessions.test.ts',
          'is Secure when a trusted proxy reports https, and not when a client does',
        ),
        test('test/contract/paths.test.ts', 'the exact path is served, with any query'),
        test('test/contract/paths.test.ts', 'nothing is served to agents at %s'),
        test('test/contract/roles.test.ts', 'cannot be bypassed by another spelling of the path'),
      ],
    },
    {
      begins: '| an insider with a role',
      heldBy: [
        test(
          'test/contract/audit.test.ts',
          'records who made a change, from where, on what, and how it ended',
        ),
        test('test/contract/audit.test.ts', 'records every refusal, and no permitted read'),
        test('test/contract/audit.test.ts', 'the audit log keeps its entries when a VIEWER is refused often'),
        test('hub/audit/audit-log.test.ts', 'truncates long entries, and marks what is missing'),
        test(
          'hub/audit/audit-log.test.ts',
          'keeps entries of others when one caller makes changes endlessly',
        ),
        test('hub/audit/audit-log.test.ts', 'does not let a user displace entries of administrators'),
        test('hub/audit/rate-limited-audit.test.ts', 'counts equal refusals and failures of a known caller'),
      ],
    },
    {
      begins: 'An agent can do badly what',
      heldBy: [
        test('test/contract/false-agents.test.ts', '%s of a false agent'),
        test('test/contract/false-agents.test.ts', 'each type of message has its lies'),
        test('test/contract/false-agents.test.ts', 'the page of the threat model has a row for each lie'),
      ],
    },
    {
      begins: '| `hello` | the id of an',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'the id of an agent with a credential'),
        test('test/contract/agent-credentials.test.ts', 'does not free its id for the join token'),
      ],
    },
    {
      begins: '| `hello` | another id than',
      heldBy: [test('test/contract/false-agents.test.ts', 'another id than that of its credential')],
    },
    {
      begins: '| `hello` | the id of a connected',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'the id of a connected agent'),
        test(
          'test/engine/joining.test.ts',
          'is refused while another one with its id is connected, and accepted afterwards',
        ),
      ],
    },
    {
      begins: '| `hello` | an instance of',
      heldBy: [test('test/contract/false-agents.test.ts', 'an instance of a connected agent')],
    },
    {
      begins: '| `hello` | that it runs,',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'that it runs, or has run, a task that waits'),
        test(
          'test/engine/joining.test.ts',
          'gets a proof with each assignment, by which a hub that has lost the claim knows it again',
        ),
      ],
    },
    {
      begins: '| `hello` | that it runs a task of',
      heldBy: [test('test/contract/false-agents.test.ts', 'that it runs a task of another agent')],
    },
    {
      begins: '| `hello` | the proof of',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'the proof of another agent'),
        test('hub/security/attempt-proofs.test.ts', 'holds for no other attempt, agent or storage key'),
      ],
    },
    {
      begins: '| `hello` | the same instance',
      heldBy: [test('test/contract/false-agents.test.ts', 'the same instance twice')],
    },
    {
      begins: '| `hello` | more instances',
      heldBy: [test('test/contract/false-agents.test.ts', 'more instances than an agent may have')],
    },
    {
      begins: '| `hello` | an instance that',
      heldBy: [test('test/contract/false-agents.test.ts', 'an instance that is older than any machine')],
    },
    {
      begins: '| `hello` | a clock of another',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'a clock of another age'),
        test('test/contract/doctor.test.ts', 'finds an agent whose clock is wrong'),
      ],
    },
    {
      begins: '| `heartbeat` | that it lives',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'that it lives'),
        test(
          'test/engine/leases.test.ts',
          'is lost when its lease ends: its tasks are requeued at their old place',
        ),
        test(
          'test/engine/canceling.test.ts',
          'by force ends a running task on its instance, and its report is dropped',
        ),
      ],
    },
    {
      begins: '| `instance` | the state',
      heldBy: [test('test/contract/false-agents.test.ts', 'the state of an instance of another agent')],
    },
    {
      begins: '| `instance` | an instance that it',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'an instance that it did not name'),
        test('test/engine/joining.test.ts', 'may rejoin with other instances'),
      ],
    },
    {
      begins: '| `instance` | another version',
      heldBy: [test('test/contract/false-agents.test.ts', 'another version or label of its own instance')],
    },
    {
      begins: '| `instance` | the end of its',
      heldBy: [test('test/contract/false-agents.test.ts', 'the end of its host')],
    },
    {
      begins: '| `instance` | an instance that is',
      heldBy: [test('test/contract/false-agents.test.ts', 'an instance that is older than any machine')],
    },
    {
      begins: '| `output` | output of a',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'output of a task of another agent'),
        test('hub/engine/following/task-output.test.ts', 'is only that of the active attempt'),
      ],
    },
    {
      begins: '| `output` | more text than',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'more text than any agent sends at once'),
        test(
          'hub/engine/following/task-output.test.ts',
          'keeps the end of long output, without a gap or a repeated character',
        ),
      ],
    },
    {
      begins: '| `report` | the end of a task of',
      heldBy: [test('test/contract/false-agents.test.ts', 'the end of a task of another agent')],
    },
    {
      begins: '| `report` | the end of a task that',
      heldBy: [test('test/contract/false-agents.test.ts', 'the end of a task that waits')],
    },
    {
      begins: '| `report` | another end',
      heldBy: [test('test/contract/false-agents.test.ts', 'another end of a task that has ended')],
    },
    {
      begins: '| `report` | files that it',
      heldBy: [test('test/contract/false-agents.test.ts', 'files that it has not sent')],
    },
    {
      begins: '| `report` | another size of a file',
      heldBy: [test('test/contract/false-agents.test.ts', 'another size of a file')],
    },
    {
      begins: '| `report` | another size of the',
      heldBy: [
        test(
          'test/contract/false-agents.test.ts',
          'another size of the log, or of a file of the output storage',
        ),
      ],
    },
    {
      begins: '| `report` | two files with',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'two files with one path, or a file that is a folder'),
      ],
    },
    {
      begins: '| `report` | a path out of',
      heldBy: [test('test/contract/false-agents.test.ts', 'a path out of the folder of results')],
    },
    {
      begins: '| `report` | a checkpoint with',
      heldBy: [
        test(
          'test/contract/false-agents.test.ts',
          'a checkpoint with a path out of its folder, or with files that it has not sent',
        ),
      ],
    },
    {
      begins: '| `report` | files of the',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'files of the output storage with names of others'),
      ],
    },
    {
      begins: '| `report` | blobs that it',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'blobs that it does not name'),
        test(
          'test/engine/reports.test.ts',
          'that brings another blob than it names is a protocol violation without effect',
        ),
      ],
    },
    {
      begins: '| `reply` | a reply to a',
      heldBy: [test('test/contract/false-agents.test.ts', 'a reply to a request to another agent')],
    },
    {
      begins: '| `reply` | a reply to no',
      heldBy: [test('test/contract/false-agents.test.ts', 'a reply to no request')],
    },
    {
      begins: '| `reply` | crashes before',
      heldBy: [test('test/contract/false-agents.test.ts', 'crashes before any machine')],
    },
    {
      begins: '| `reply` | more recipes of hosts',
      heldBy: [test('test/contract/false-agents.test.ts', 'more recipes of hosts than a hub may lend')],
    },
    {
      begins: '| `reply` | recipes for hosts that',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'recipes for hosts that never come'),
        test('test/engine/hosts-of-joined-hubs.test.ts', 'asks no agent, and no hub of an earlier version'),
        test('test/engine/hosts-of-joined-hubs.test.ts', 'brings its own hosts first'),
      ],
    },
    {
      begins: '| `leaving` | that it joins',
      heldBy: [
        test('test/contract/false-agents.test.ts', 'that it joins another hub'),
        test(
          'test/engine/leases.test.ts',
          'is lost when its lease ends: its tasks are requeued at their old place',
        ),
      ],
    },
    {
      begins: '| GET of a file | a digest',
      heldBy: [test('test/contract/false-agents.test.ts', 'a digest that the hub does not have')],
    },
    {
      begins: '| PUT of a file | bytes of',
      heldBy: [test('test/contract/false-agents.test.ts', 'bytes of another digest')],
    },
    {
      begins: '| PUT of a file | other bytes',
      heldBy: [test('test/contract/false-agents.test.ts', 'other bytes for a file that the hub has')],
    },
    {
      begins: '| POST of a code | the id',
      heldBy: [test('test/contract/false-agents.test.ts', 'the id of another agent')],
    },
    {
      begins: 'Its messages and bytes are',
      heldBy: [
        test('test/contract/overload.test.ts', 'an agent that floods the hub is disconnected'),
        test('hub/agent-link/flood-guard.test.ts', 'returns which limit was exceeded'),
        test(
          'test/contract/agent-upgrades.test.ts',
          'whose first message has endless fragments is closed with 1009',
        ),
      ],
    },
    { begins: 'The scripts of a task are', heldBy: PROMISES_NOTHING },
    { begins: '**Recommended: a sandbox', heldBy: PROMISES_NOTHING },
    {
      begins: '`workbench-agent --check-config`,',
      heldBy: [
        test('test/scenarios/sandbox.test.ts', 'reports in --check-config that the sandbox works'),
        test('test/scenarios/sandbox.test.ts', 'refuses to start %s, and --check-config reports the same'),
        test('agent/process/bubblewrap.test.ts', 'a sandbox that does not work says what is missing'),
      ],
    },
    {
      begins: '| write access | its working',
      heldBy: [
        test(
          'agent/process/sandbox-mounts.test.ts',
          'no writable folder but those of the prepared directory',
        ),
        test(
          'agent/sandboxed-jobs.test.ts',
          'a script sees and changes nothing of the agent, of other jobs or of the host',
        ),
        test('agent/sandboxed-jobs.test.ts', 'jobs of %s get their files and variables'),
      ],
    },
    {
      begins: '| read access | `/usr`; the',
      heldBy: [
        test(
          'agent/sandboxed-jobs.test.ts',
          'a script sees and changes nothing of the agent, of other jobs or of the host',
        ),
        test(
          'agent/sandboxed-jobs.test.ts',
          'folders by list may be read, also behind a link and beside what is hidden',
        ),
        test('agent/process/sandbox-mounts.test.ts', 'nothing of the agent, even in a readable folder'),
        test(
          'agent/process/sandbox-mounts.test.ts',
          'the program of the command, the files that it loads, and their targets',
        ),
        test(
          'agent/process/sandbox-mounts.test.ts',
          'no folder with keys, no home, and of /etc only listed files',
        ),
      ],
    },
    {
      begins: '| other processes | those',
      heldBy: [
        test(
          'agent/sandboxed-jobs.test.ts',
          'a script sees and changes nothing of the agent, of other jobs or of the host',
        ),
      ],
    },
    {
      begins: '| network | none, unless',
      heldBy: [test('agent/sandboxed-jobs.test.ts', 'scripts reach no network, unless it is allowed')],
    },
    {
      begins: '| devices | harmless ones',
      heldBy: [
        test('agent/sandboxed-jobs.test.ts', 'a script has only devices that do no harm'),
        test('agent/process/sandbox-mounts.test.ts', 'devices of graphics cards only if they are listed'),
      ],
    },
    {
      begins: '| rights | no capability,',
      heldBy: [
        test(
          'agent/sandboxed-jobs.test.ts',
          'a script sees and changes nothing of the agent, of other jobs or of the host',
        ),
        test(
          'test/scenarios/sandbox.test.ts',
          'runs their jobs %s, in a folder that only its owner may enter',
        ),
      ],
    },
    {
      begins: '| environment | of the',
      heldBy: [
        test(
          'agent/sandboxed-jobs.test.ts',
          'a script sees and changes nothing of the agent, of other jobs or of the host',
        ),
        test('agent/sandboxed-jobs.test.ts', 'jobs of %s get their files and variables'),
        test('agent/core/job-environment.test.ts', 'contains the task and its files'),
      ],
    },
    {
      begins: 'When the job ends, normally,',
      heldBy: [
        test(
          'agent/sandboxed-jobs.test.ts',
          'a daemon that hides ends with its job, before anything is collected',
        ),
        test('agent/sandboxed-jobs.test.ts', 'comes with a cancel, of %s'),
        test('agent/sandboxed-jobs.test.ts', 'comes with the time limit'),
        test('agent/sandboxed-jobs.test.ts', 'comes with the death of the program, which loses its job'),
        test(
          'agent/engine/supervisor.test.ts',
          'has another program after each job, without its claim being lost',
        ),
        test(
          'test/scenarios/sandbox.test.ts',
          'leaves nothing of a job when it is killed, and continues with a new one',
        ),
      ],
    },
    {
      begins: '**A control group for each',
      heldBy: [
        test(
          'agent/process/linux-control-groups.test.ts',
          'loses what was started during the job, and nothing else',
        ),
        test('agent/left-by-a-job.test.ts', 'a daemon that hides ends with its task, and %s continues'),
        test(
          'agent/left-by-a-job.test.ts',
          'without control groups, a process of the group that hides ends with its program',
        ),
        test(
          'agent/process/linux.test.ts',
          'are found by its id, and by the cookie of their instance or their agent',
        ),
        test('test/repository/systemd-units.test.ts', 'the unit of the agent permits control groups'),
      ],
    },
    { begins: 'Beyond that:', heldBy: PROMISES_NOTHING },
    { begins: '- **A separate user.** Run', heldBy: PROMISES_NOTHING },
    {
      begins: '- **The service manager**',
      heldBy: [
        test(
          'test/repository/systemd-units.test.ts',
          'the unit of the agent has the restrictions that threat-model.md names',
        ),
        test(
          'test/repository/systemd-units.test.ts',
          'the unit of the agent omits %s, which would break the sandbox',
        ),
        test('test/repository/systemd-units.test.ts', 'the unit of the agent permits control groups'),
      ],
    },
    { begins: '- **Read-only roots.** List', heldBy: PROMISES_NOTHING },
    { begins: '- **A separate hub** for', heldBy: PROMISES_NOTHING },
    { begins: '- On a PostgreSQL database of an earlier version', heldBy: PROMISES_NOTHING },
    { begins: '- A `VIEWER` sees all tasks', heldBy: PROMISES_NOTHING },
    {
      begins: '- Blobs are in clear in the',
      heldBy: [test('test/contract/input-storage.test.ts', 'is stored nowhere in plain')],
    },
    {
      begins: '- The quota limits the input',
      heldBy: [
        test(
          'test/engine/sweeping.test.ts',
          'without references are removed after an hour, those of a waiting task stay',
        ),
        test('test/conformance/blob-disk.test.ts', 'gets room from partial blobs, the oldest first'),
        test(
          'test/conformance/interrupted-transfers.test.ts',
          'is swept when nobody resumes it for a long time',
        ),
      ],
    },
    { begins: '- Everybody who can read', heldBy: PROMISES_NOTHING },
    {
      begins: '- A stolen refresh token',
      heldBy: [
        test(
          'test/contract/sessions.test.ts',
          'with a token older than the last used one ends the session, for thief and owner',
        ),
        test(
          'test/contract/session-lifetime.test.ts',
          'allows a used token again for 15 seconds, and ends with a later use',
        ),
        test(
          'test/scenarios/users-of-a-running-hub.test.ts',
          'a user is added, given roles and a password, disabled, enabled and removed',
        ),
      ],
    },
    { begins: '- A user who types a password', heldBy: PROMISES_NOTHING },
    { begins: '- A verified token of the', heldBy: PROMISES_NOTHING },
    { begins: '- The audit log is a file:', heldBy: PROMISES_NOTHING },
    {
      begins: '- Neither response nor time',
      heldBy: [
        test('hub/engine/accounts/password-check.test.ts', 'in the same words, after the same work'),
        test('test/contract/login-throttle.test.ts', 'an unknown name is throttled like a known one'),
      ],
    },
    {
      begins: '- On systems other than Linux,',
      heldBy: [
        test('agent/disk/hostile-jobs.test.ts', 'before the step %s, adds no output'),
        test('agent/disk/hostile-jobs.test.ts', 'after the outputs were found, adds no output'),
        test('agent/disk/hostile-jobs.test.ts', 'before the step %s of a removal, causes no removal'),
      ],
    },
    {
      begins: '- A flood of logins from',
      heldBy: [
        test(
          'test/scenarios/login-flood.test.ts',
          'does not block users who recently logged in from there, and others only for seconds',
        ),
      ],
    },
    { begins: '- Denial of service by sheer', heldBy: PROMISES_NOTHING },
  ],
};
