/*
 * Counts the instructions of a trace by libipt's block decoder: libipt TRACE [FILE OFFSET SIZE ADDRESS]…
 *
 * Numbers are hexadecimal.
 */
#include <intel-pt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../fixtures/stepped/slurp.h"

int main(int argc, char **argv)
{
	size_t size;
	uint8_t *trace = slurp(argv[1], &size);
	struct pt_config config;
	pt_config_init(&config);
	config.begin = trace;
	config.end = trace + size;
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(&config);
	struct pt_image *image = pt_image_alloc("image");
	for (int i = 2; i + 3 < argc; i += 4) {
		uint64_t offset = strtoull(argv[i + 1], 0, 16);
		uint64_t length = strtoull(argv[i + 2], 0, 16);
		uint64_t address = strtoull(argv[i + 3], 0, 16);
		if (pt_image_add_file(image, argv[i], offset, length, NULL, address) < 0)
			return 3;
	}
	pt_blk_set_image(decoder, image);
	uint64_t insns = 0, errors = 0;
	int status;
	while ((status = pt_blk_sync_forward(decoder)) >= 0) {
		do {
			struct pt_block block = { 0 };
			struct pt_event event;
			while (status >= 0 && (status & pts_event_pending))
				status = pt_blk_event(decoder, &event, sizeof event);
			if (status < 0 || (status & pts_eos))
				break;
			status = pt_blk_next(decoder, &block, sizeof block);
			insns += block.ninsn;
		} while (status >= 0);
		errors += status < 0 && status != -pte_eos;
	}
	printf("%" PRIu64 " instructions, %" PRIu64 " errors\n", insns, errors);
	return 0;
}
