#include "commands/cli/shared/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

struct screen screen_size(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        size = (struct winsize){ 0 };
    return (struct screen){
        .rows = size.ws_row ? size.ws_row : SCREEN_ROWS_UNKNOWN,
        .columns = size.ws_col ? size.ws_col : SCREEN_COLUMNS_UNKNOWN,
    };
}
