/** The rows of the class table (`field-support.ts`) for `sequence_batching`. */

import { acted, refused, type Support } from './support.js';

const state = 'sequence_batching.state';
const control = 'sequence_batching.control_input';

/** See the head of this file. */
export const sequenceSupport: Readonly<Record<string, Support>> = {
  sequence_batching: acted('requests of a sequence go to one instance, in order'),
  'sequence_batching.direct': acted('each sequence has a row of the batch; the default'),
  'sequence_batching.direct.max_queue_delay_microseconds': acted(
    'longest wait for more rows; without minimum_slot_utilization there is none, as in Triton',
  ),
  'sequence_batching.direct.minimum_slot_utilization': acted(
    'the share of rows with a request that starts a batch at once; 0: any',
  ),
  'sequence_batching.oldest': acted('the oldest requests of all sequences run first, in any row'),
  'sequence_batching.oldest.max_candidate_sequences': acted(
    'how many sequences an instance serves at a time; further ones wait; 0: max_batch_size, but at least 1',
  ),
  'sequence_batching.oldest.preferred_batch_size': acted(
    'sizes to which a batch is cut; default: max_batch_size',
  ),
  'sequence_batching.oldest.max_queue_delay_microseconds': acted(
    'longest wait of the oldest request for company',
  ),
  'sequence_batching.oldest.preserve_ordering': acted(
    'responses of an instance leave in the order of their requests',
  ),
  'sequence_batching.max_sequence_idle_microseconds': acted(
    'a sequence ends after this time without a request; default: 1 second',
  ),
  [control]: acted('inputs that the server sets; callers do not send them'),
  [`${control}.name`]: acted("the model's input"),
  [`${control}.control`]: acted('what it tells; one for each input'),
  [`${control}.control.kind`]: acted('first request, last request, request in this row, or correlation id'),
  [`${control}.control.int32_false_true`]: acted('values of an INT32 tensor for false and true'),
  [`${control}.control.fp32_false_true`]: acted('values of an FP32 tensor for false and true'),
  [`${control}.control.bool_false_true`]: acted('values of a BOOL tensor for false and true'),
  [`${control}.control.data_type`]: acted('type of a correlation id; ignored for other kinds'),
  [state]: acted('tensors that the server keeps from one request of a sequence to the next'),
  [`${state}.input_name`]: acted("the model's input that receives the state"),
  [`${state}.output_name`]: acted(
    "the model's output that becomes the next state; callers receive it if it is among the outputs, too",
  ),
  [`${state}.data_type`]: acted('element type; must be that of the model'),
  [`${state}.dims`]: acted('shape without the batch dimension; -1 is 1 in the first request'),
  [`${state}.initial_state`]: acted('the state of a new sequence; default: zeros, or empty strings'),
  [`${state}.initial_state.data_type`]: acted("the state's type"),
  [`${state}.initial_state.dims`]: acted('a fixed shape that fits the state'),
  [`${state}.initial_state.zero_data`]: acted('its presence: zeros; empty strings'),
  [`${state}.initial_state.data_file`]: acted(
    "a file in the model's folder `initial_state`, with the bytes of the tensor; further bytes are ignored; strings, each behind its length in 4 bytes",
  ),
  [`${state}.initial_state.name`]: acted('its name in messages'),
  [`${state}.use_same_buffer_for_input_output`]: acted('the shape of the state never changes'),
  [`${state}.use_growable_memory`]: refused('memory that grows in place is not built yet'),
  'sequence_batching.iterative_sequence': acted(
    'a request without a correlation id is a sequence of its own, and runs again as long as the model asks for it',
  ),
};
