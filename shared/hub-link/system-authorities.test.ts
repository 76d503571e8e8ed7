import { expect, it } from 'vitest';
import { type Stores, trustSystemAuthorities, trustsSystemAuthorities } from './system-authorities.js';

/** Stores with these authorities, and those that are trusted in the end. */
function storesOf(system: () => string[]) {
  let trusted = ['public'];
  const stores: Stores = {
    getCACertificates: (of) => (of === 'default' ? trusted : system()),
    setDefaultCACertificates: (certificates) => {
      trusted = [...certificates];
    },
  };
  return { stores, trusted: () => trusted };
}

it('does nothing in a Node.js that reads no stores, or cannot set what it trusts', () => {
  expect(trustSystemAuthorities({})).toBeNull();
  const unread = () => {
    throw new Error('was read');
  };
  expect(trustSystemAuthorities({ getCACertificates: unread })).toBeNull();
  expect(trustsSystemAuthorities()).toBe(false);
});

it('adds the authorities of the system to those of Node.js, each once, also when it is asked again', () => {
  const { stores, trusted } = storesOf(() => ['company', 'public', 'company']);
  expect(trustSystemAuthorities(stores)).toBeNull();
  expect(trustSystemAuthorities(stores)).toBeNull();
  expect(trusted()).toEqual(['public', 'company']);
  expect(trustsSystemAuthorities()).toBe(true);
});

it('leaves those of Node.js in place when the store cannot be read, and says so', () => {
  const { stores, trusted } = storesOf(() => {
    throw new Error('access denied');
  });
  expect(trustSystemAuthorities(stores)).toBe(
    'the authorities that this system trusts cannot be read: access denied',
  );
  expect(trusted()).toEqual(['public']);
});
