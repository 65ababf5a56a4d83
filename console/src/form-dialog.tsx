// A form in a dialog, with the request that it would send.

import { type FormEvent, type ReactNode, useEffect, useRef } from "react";
import type { Question } from "./api.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./parts.tsx";
import { SameRequest } from "./same-request.tsx";
import { usePreview } from "./send.ts";
import { texts } from "./texts/pages.ts";

interface FormDialogProps {
  readonly title: string;
  /** Label of the button (default: the title). */
  readonly button?: string;
  readonly question: Question<unknown>;
  readonly message: string;
  /** Both versions, if the resource has changed since the form was opened. */
  readonly conflict?: ReactNode;
  readonly isSending: boolean;
  readonly submit: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export const FormDialog = ({
  title,
  button = title,
  question,
  message: refusal,
  conflict,
  isSending,
  submit,
  onClose,
  children,
}: FormDialogProps): ReactNode => {
  const message = conflict ? texts.conflict : refusal;
  const sent = usePreview(question);
  const notice = useRef<HTMLParagraphElement>(null);
  // A form that is longer than the window hides it otherwise.
  useEffect(() => {
    if (message !== "") notice.current?.scrollIntoView({ block: "center" });
  }, [message]);
  return (
    <Dialog label={title} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <form
        className="fields"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          submit();
        }}
        noValidate
      >
        {message === "" ? null : (
          <p className="notice" role="alert" ref={notice}>
            {message}
          </p>
        )}
        {conflict}
        {children}
        <SameRequest sent={[sent]} />
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="submit" className="button primary" aria-disabled={isSending}>
            {button}
          </button>
        </div>
      </form>
    </Dialog>
  );
};
