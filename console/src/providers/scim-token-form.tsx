// Creates a SCIM token, or replaces it, and shows it once.

import { type ReactNode, useId, useState } from "react";
import type { GenerateScimTokenResponse, IdentityProviderSCIM } from "../../../client/package.ts";
import { Dialog } from "../dialog.tsx";
import { FormDialog } from "../form-dialog.tsx";
import { endOfDay } from "../format.ts";
import { announce, Command, Expiry, Icon } from "../parts.tsx";
import { SelectField } from "../select-field.tsx";
import { useSend } from "../send.ts";
import { texts } from "../texts/providers.ts";
import { generateScimToken, regenerateScimToken } from "./requests.ts";

/** How long the replaced token still works. A day is the longest that the API accepts. */
const overlaps = ["3600s", "86400s", "0s"] as const;

interface CreatedProps {
  readonly created: GenerateScimTokenResponse;
  readonly onClose: () => void;
}

const Created = ({ created: { token, endpointUrl, expireTime }, onClose }: CreatedProps): ReactNode => (
  <Dialog label={texts.tokenCreated} className="dialog form-dialog" onClose={onClose}>
    <header>
      <h2>{texts.tokenCreated}</h2>
      <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
        <Icon name="close" />
      </button>
    </header>
    <div className="fields">
      <p className="notice" role="status">
        {texts.tokenOnce}
      </p>
      <p>{texts.pasteToken}</p>
      <Command text={token} what={texts.scimToken} />
      <p>{texts.pasteEndpoint}</p>
      <Command text={endpointUrl} what={texts.scimEndpoint} />
      <p className="quiet">
        {texts.expires}: {expireTime === undefined ? texts.neverExpires : <Expiry time={expireTime} />}.{" "}
        <a href="/docs/how-to/scim" target="_blank" rel="noreferrer">
          {texts.scimGuide}
        </a>
      </p>
      <div className="form-actions">
        <button type="button" className="button primary" onClick={onClose}>
          {texts.done}
        </button>
      </div>
    </div>
  </Dialog>
);

interface ScimTokenFormProps {
  /** Uid of the identity provider. */
  readonly provider: string;
  readonly scim: IdentityProviderSCIM;
  readonly onClose: () => void;
}

export const ScimTokenForm = ({ provider, scim, onClose }: ScimTokenFormProps): ReactNode => {
  const id = useId();
  // The page reads the state again once there is a token.
  const [before] = useState(scim);
  const [date, setDate] = useState("");
  const [neverExpires, setNeverExpires] = useState(false);
  const [overlap, setOverlap] = useState<(typeof overlaps)[number]>(overlaps[0]);
  const [created, setCreated] = useState<GenerateScimTokenResponse>();
  const { problems, isSending, send } = useSend(["expireTime", "overlap"]);
  const isFirst = before.credentialState === "CREDENTIAL_STATE_NOT_ISSUED";
  const isOldValid = before.credentialState === "CREDENTIAL_STATE_LIVE" || before.credentialState === "CREDENTIAL_STATE_ROTATING";
  const expiry = { ...(neverExpires ? { neverExpires } : date === "" ? {} : { expireTime: endOfDay(date) }) };
  const question = isFirst
    ? generateScimToken({ identityProviderUid: provider, ...expiry })
    : regenerateScimToken({ identityProviderUid: provider, ...(isOldValid ? { overlap } : {}), ...expiry, etag: before.etag });
  const submit = async (): Promise<void> => {
    if (isSending) return;
    const answer = await send<GenerateScimTokenResponse>(question);
    if (!answer) return;
    setCreated(answer.data);
    announce(texts.tokenCreated);
  };
  if (created) return <Created created={created} onClose={onClose} />;
  return (
    <FormDialog
      title={isFirst ? texts.generateToken : texts.replaceToken}
      question={question}
      message={problems.message}
      isSending={isSending}
      submit={() => void submit()}
      onClose={onClose}
    >
      <p className={isOldValid ? "notice" : "quiet"}>{isOldValid ? texts.replaceTokenText : texts.generateTokenText}</p>
      {isOldValid ? (
        <SelectField
          label={texts.overlap}
          value={overlap}
          choices={overlaps.map((each) => [each, texts.overlaps[each]] as const)}
          problem={problems.fields.overlap}
          onChange={setOverlap}
          isFirst
        />
      ) : null}
      <div className="field">
        <label htmlFor={id}>{texts.expiresOptional}</label>
        <input
          id={id}
          type="date"
          value={date}
          disabled={neverExpires}
          aria-describedby={`${id}-about`}
          aria-invalid={problems.fields.expireTime !== undefined}
          {...(isOldValid ? {} : { "data-first": true })}
          onChange={({ target }) => setDate(target.value)}
        />
        <p id={`${id}-about`} className={problems.fields.expireTime === undefined ? "about" : "problem"}>
          {problems.fields.expireTime ?? texts.tokenExpiresHint}
        </p>
      </div>
      <label className="check">
        <input type="checkbox" checked={neverExpires} onChange={({ target }) => setNeverExpires(target.checked)} />
        {texts.tokenNeverExpires}
      </label>
    </FormDialog>
  );
};
