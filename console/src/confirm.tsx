// Asks before a change with consequences.

import type { ReactNode } from "react";
import { usePreview, useSend } from "./send.ts";
import type { Question } from "./api.ts";
import { Dialog } from "./dialog.tsx";
import { announce, Icon } from "./parts.tsx";
import { SameRequest } from "./same-request.tsx";
import { texts } from "./texts/pages.ts";
import { type Deleted, offerUndo } from "./undo.tsx";

export interface Confirmation {
  /** Also the label of the button. */
  readonly title: string;
  readonly about: ReactNode;
  readonly effect: string;
  readonly question: Question<unknown>;
  /** Read out afterwards. */
  readonly done: string;
  /** False: the change only adds. */
  readonly isDangerous?: boolean;
  /** The resource that the change deletes, which the page then offers to restore. */
  readonly deletes?: Deleted;
  /** The page to open, if the change removes the current one. */
  readonly next?: string;
  /** After the change. */
  readonly onDone?: () => void;
}

export const Confirm = ({
  title,
  about,
  effect,
  question,
  done,
  isDangerous = true,
  deletes,
  next,
  onClose,
  onDone,
}: Confirmation & { readonly onClose: () => void }): ReactNode => {
  const { problems, isSending, send } = useSend();
  const sent = usePreview(question);
  const confirm = async (): Promise<void> => {
    if (isSending || !(await send(question, () => next))) return;
    onClose();
    announce(done);
    if (deletes) offerUndo(deletes);
    onDone?.();
  };
  return (
    <Dialog label={title} className="dialog form-dialog" onClose={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div className="fields">
        <p className="sentence">{about}</p>
        <p>{effect}</p>
        {problems.message === "" ? null : (
          <p className="notice" role="alert">
            {problems.message}
          </p>
        )}
        <SameRequest sent={[sent]} />
        <div className="form-actions">
          <button type="button" className="button" onClick={onClose}>
            {texts.cancel}
          </button>
          <button type="button" className={isDangerous ? "button danger" : "button primary"} aria-disabled={isSending} onClick={() => void confirm()}>
            {title}
          </button>
        </div>
      </div>
    </Dialog>
  );
};
