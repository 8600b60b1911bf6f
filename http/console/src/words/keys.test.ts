import { describe, expect, test } from 'vitest';

import { chosen, scopeGroups, scopeName, withIncluded } from './keys';

describe('the scopes of a key', () => {
  test('are shown by groups, each once', () => {
    expect(scopeGroups.map((g) => g.name)).toEqual(['Calls', 'Contacts', 'Campaigns', 'Lines', 'Installation']);
    const shown = scopeGroups.flatMap((g) => g.scopes);
    expect(new Set(shown).size).toBe(shown.length);
  });
  test('have names that tell reading from changing', () => {
    expect([scopeName('dialout'), scopeName('trunks:read')]).toEqual(['Dialout', 'Trunks, read only']);
  });
  test('show what they include, and send only what was chosen', () => {
    expect(withIncluded(['trunks'])).toEqual(['trunks', 'trunks:read']);
    expect(chosen(['trunks'], ['trunks', 'trunks:read', 'read'])).toEqual(['read', 'trunks']);
    expect(chosen(['read', 'trunks'], ['read', 'calls:read', 'campaigns:read', 'trunks:read'])).toEqual(['read']);
    expect(chosen(['trunks', 'trunks:read'], ['trunks:read'])).toEqual(['trunks:read']);
  });
});
