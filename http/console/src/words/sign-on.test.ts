import { describe, expect, test } from 'vitest';

import { signOnPath, signOnRefusal } from './sign-on';

describe('a log-in by an identity provider', () => {
  test('says why it was refused', () => {
    expect(signOnRefusal('')).toBeNull();
    expect(signOnRefusal('?page=2')).toBeNull();
    expect(signOnRefusal('?log_in=oidc_no_role')).toContain('groups');
    expect(signOnRefusal('?log_in=whatever')).toContain('did not succeed');
    expect(signOnRefusal('?log_in=toString')).toContain('did not succeed');
  });
  test('leads back to the page that was asked for', () => {
    expect(signOnPath('/in', { pathname: '/dashboard/trunks', search: '?a=b&log_in=oidc_failed' })).toBe(
      '/in?to=%2Fdashboard%2Ftrunks%3Fa%3Db',
    );
  });
});
