// The issuer's paths: what authn does for whoever brings a token, and what sign-ins add to it.

import type { Authn } from "#authn";
import { texts } from "#base/json.ts";
import type { SignIn } from "#signin";
import type { IssuerDoor } from "#transport";

export const issuerDoor = (authn: Authn, { grants, beginDevice, paths }: SignIn, publicUrl: string): IssuerDoor => ({
  discovery: () => {
    const known = authn.discovery();
    return {
      ...known,
      device_authorization_endpoint: `${publicUrl.replace(/\/+$/, "")}/oauth/device_authorization`,
      grant_types_supported: [...texts(known, "grant_types_supported"), ...grants.keys()],
    };
  },
  keys: authn.keys,
  exchangeToken: (form, authorization) => {
    const grant = grants.get(form.get("grant_type") ?? "");
    return grant ? grant(form) : authn.exchangeForm(form, authorization);
  },
  beginDevice,
  shown: paths,
});
