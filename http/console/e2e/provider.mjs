// An identity provider for the tests of log-in: oidc-provider with its pages for development, where any password does.
// PEOPLE is a file with the claims of each person, read anew whenever somebody is asked about.
import { readFileSync } from 'node:fs';

import { Provider } from 'oidc-provider';

import { setting } from './browser.mjs';

const issuer = setting('ISSUER');
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: setting('CLIENT'),
      client_secret: setting('SECRET'),
      redirect_uris: [setting('CALLBACK')],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  pkce: { required: () => true, methods: ['S256'] },
  scopes: ['openid', 'email', 'profile', 'groups'],
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name'],
    groups: ['groups'],
  },
  cookies: { keys: ['of this test alone'] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, ...JSON.parse(readFileSync(setting('PEOPLE'), 'utf8'))[id] }),
  }),
});
provider.listen(Number(new URL(issuer).port), '127.0.0.1');
