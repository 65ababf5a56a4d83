// SCIM of an identity provider: its state, its endpoint and its token.

import { type ReactNode, useState } from "react";
import type { IdentityProvider, IdentityProviderSCIM } from "../../../client/package.ts";
import { Confirm } from "../confirm.tsx";
import { Badge, Copy, Expiry, Name, Time } from "../parts.tsx";
import { texts } from "../texts/providers.ts";
import { revokeScimToken, setScimEnabled } from "./requests.ts";
import { ScimTokenForm } from "./scim-token-form.tsx";

const hasToken = ({ credentialState }: IdentityProviderSCIM): boolean =>
  credentialState === "CREDENTIAL_STATE_LIVE" || credentialState === "CREDENTIAL_STATE_ROTATING";

const State = ({ scim }: { readonly scim: IdentityProviderSCIM }): ReactNode => (
  <dl>
    <dt>{texts.state}</dt>
    <dd>
      <Badge tone={scim.enabled ? "good" : "plain"}>{scim.enabled ? texts.on : texts.off}</Badge>
    </dd>
    <dt>{texts.scimToken}</dt>
    <dd>{texts.tokenStates[scim.credentialState]}</dd>
    {hasToken(scim) || scim.tokenExpireTime !== undefined ? (
      <>
        <dt>{texts.expires}</dt>
        <dd>{scim.tokenExpireTime === undefined ? texts.neverExpires : <Expiry time={scim.tokenExpireTime} />}</dd>
      </>
    ) : null}
    {scim.previousTokenExpireTime === undefined ? null : (
      <>
        <dt>{texts.previousExpires}</dt>
        <dd>
          <Time time={scim.previousTokenExpireTime} />
        </dd>
      </>
    )}
    <dt>{texts.scimEndpoint}</dt>
    <dd className="long">
      <code>{scim.endpointUrl}</code> <Copy text={scim.endpointUrl} what={texts.scimEndpoint} />
    </dd>
  </dl>
);

type Action = "switch" | "token" | "revoke";

interface ScimProps {
  readonly provider: IdentityProvider;
  readonly scim: IdentityProviderSCIM;
  readonly mayManage: boolean;
  /** Reads the state again: a change by another user refuses those that were opened before it. */
  readonly refresh: () => void;
}

export const Scim = ({ provider: { uid, name }, scim, mayManage, refresh }: ScimProps): ReactNode => {
  const [open, setOpen] = useState<Action>();
  const close = (): void => {
    setOpen(undefined);
    refresh();
  };
  const button = (action: Action, title: string): ReactNode => (
    <button type="button" className="button" onClick={() => setOpen(action)}>
      {title}
    </button>
  );
  const about = <Name>{name}</Name>;
  return (
    <>
      <h3>{texts.scim}</h3>
      <p className="quiet details-text">{texts.scimText}</p>
      <State scim={scim} />
      {mayManage ? (
        <p className="states details-actions">
          {button("token", scim.credentialState === "CREDENTIAL_STATE_NOT_ISSUED" ? texts.generateToken : texts.replaceToken)}
          {button("switch", scim.enabled ? texts.switchOff : texts.switchOn)}
          {hasToken(scim) ? button("revoke", texts.revokeToken) : null}
        </p>
      ) : null}
      {open === "token" ? <ScimTokenForm provider={uid} scim={scim} onClose={close} /> : null}
      {open === "switch" ? (
        <Confirm
          title={scim.enabled ? texts.switchOff : texts.switchOn}
          about={about}
          effect={scim.enabled ? texts.switchOffText : texts.switchOnText}
          question={setScimEnabled(uid, !scim.enabled, scim.etag)}
          done={scim.enabled ? texts.switchedOff : texts.switchedOn}
          isDangerous={scim.enabled}
          onClose={close}
        />
      ) : null}
      {open === "revoke" ? (
        <Confirm
          title={texts.revokeToken}
          about={about}
          effect={texts.revokeTokenText}
          question={revokeScimToken(uid)}
          done={texts.tokenRevoked}
          onClose={close}
        />
      ) : null}
    </>
  );
};
