/** Schemas of login requests and responses in all API versions (contract 8.2). */
import { z } from 'zod';
import { MAX_PASSWORD_LENGTH } from '../../../core/accounts.js';

export const loginRequest = z
  .object({
    username: z.string().max(256).meta({ example: 'anna' }),
    password: z.string().max(MAX_PASSWORD_LENGTH).meta({ example: 'correct horse battery staple' }),
  })
  .meta({ id: 'LoginRequest' });

export const loginResponse = z
  .object({
    accessToken: z
      .string()
      .meta({ description: 'For the header `Authorization: Bearer <accessToken>` of later requests.' }),
  })
  .meta({ id: 'LoginResponse' });

/** Error responses of a login. */
export const LOGIN_FAILURES = {
  401: { description: 'The username or the password is wrong, or the user is disabled.' },
  429: { description: 'Too many attempts; the header `Retry-After` gives the seconds until the next try.' },
};
